// Uplink
