"""What tests share: builders, harnesses, fakes. Every fake passes the contract of what it stands for."""
