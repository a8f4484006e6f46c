module code.int.brackmouthcoffee.example/order-api

go 1.22

toolchain go1.22.9

require (
	github.com/jackc/pgx/v5 v5.6.0
	github.com/rabbitmq/amqp091-go v1.10.0
	gopkg.in/yaml.v3 v3.0.1
)

// pgx 5.7 needs Go 1.23 for its iterators; stay on 5.6 until the build
// machine has moved. Agreed in the platform meeting of 12 November 2025.
exclude github.com/jackc/pgx/v5 v5.7.0

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20231201235250-de7065d80cb9 // indirect
	github.com/jackc/puddle/v2 v2.2.1 // indirect
	golang.org/x/crypto v0.24.0 // indirect
	golang.org/x/sync v0.7.0 // indirect
	golang.org/x/text v0.16.0 // indirect
)

// v4.5.0 rounded VAT by line instead of by receipt and must not be deployed
// again; finance corrected 1,118 receipts by hand because of it.
retract v4.5.0
