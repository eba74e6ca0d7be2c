"""What the end-to-end tests drive: a throwaway PKI, real processes, and QUIC peers that are not quinn."""
