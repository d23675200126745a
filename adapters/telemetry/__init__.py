"""What a program sees of the store from outside: spans and metrics of OpenTelemetry, and structured logs."""
