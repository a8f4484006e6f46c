module code.int.brackmouthcoffee.example/label-printer

go 1.22

toolchain go1.22.9

// Only the bus needs a library; the printers are written to as plain TCP on
// port 9100 and the pages are the standard library's.
require github.com/rabbitmq/amqp091-go v1.10.0

// v1.1.2 cut the accent off Boa Maré, because it counted bytes and not letters.
retract v1.1.2

// v1.2.0 was tagged from a branch and never ran anywhere.
retract v1.2.0

// v1.3.0 printed the best-before date of 30 November as 30 August of the same
// year. 212 bags were relabelled on 2 December 2024.
retract v1.3.0
