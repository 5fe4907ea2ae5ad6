"""Language models: the common protocol, and two implementations (llama.cpp and model servers)."""
