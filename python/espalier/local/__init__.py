"""Language models in this process: files for llama.cpp and folders for transformers."""
