"""The benchmarks' official raw files: where they are, fetching, checking and unpacking them. Never started unasked."""
