# Machines and what runs on them. Sizes are what the unit files may use together,
# not what the machine has: the rest is left for the page cache.

zone "int.brackmouthcoffee.example" {
  time_source = "mon-01"
  ssh_from    = ["10.20.250.0/24"]
  os          = "debian-12"
}

host "app-01" {
  address     = "10.20.0.11"
  units       = ["bcc-order-api", "bcc-loyalty", "bcc-payroll-export.timer", "bcc-forecast.timer"]
  memory_gb   = 40
  reboot_pair = "app-02" # never both in one window
}

host "app-02" {
  address     = "10.20.0.12"
  units       = ["bcc-order-api", "bcc-webshop", "bcc-stock"]
  memory_gb   = 36
  reboot_pair = "app-01"
}

host "db-01" {
  address       = "10.20.0.21"
  units         = ["postgresql@16-main", "bcc-warehouse.timer"]
  shared_memory = "32GB"
  # 60 for orders, 20 for the load, the rest for everybody else.
  connections   = 220
}

host "db-02" {
  address       = "10.20.0.22"
  units         = ["postgresql@16-main"]
  shared_memory = "24GB"
  follows       = "db-01"
  # Long reports may hold replay up by this much, then they are cancelled.
  max_replay_delay = "10min"
}

host "mq-01" {
  address          = "10.20.0.31"
  units            = ["rabbitmq-server"]
  ports            = [5672]
  disk_free_limit  = "2GB"
  memory_watermark = 0.5
}

host "mon-01" {
  address = "10.20.0.41"
  units   = ["prometheus", "grafana-server", "alertmanager", "chrony"]
  ports   = [9090, 3001, 9093]
}

host "bak-01" {
  address    = "10.20.0.51"
  units      = ["bcc-backup.timer", "bcc-wal-check.timer"]
  read_only_from = ["db-01", "db-02"] # the databases can write, never delete
}

host "roast-01" {
  address = "10.20.8.11"
  units   = ["bcc-roast-logger", "bcc-label-printer"]
  usb     = ["roaster-bertha", "roaster-marjorie"]
}

# Ten equal boxes; the number is the café's.
host_group "edge" {
  count      = 10
  name       = "edge-c%02d"
  address    = "10.20.%d.2" # 100 + number
  units      = ["bcc-till", "bcc-fridge-watch", "bcc-update.timer"]
  memory_gb  = 6
  update_at  = "03:40"
  watchdog_s = 90
}
