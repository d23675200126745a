"""From bytes to answers: each API's wire read, and the clients of SDKs wrapped."""
