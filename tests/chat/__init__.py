"""Chat intake, held to messages that were written before it could read any."""
