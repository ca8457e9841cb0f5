// The Swift code of README.md, compiled and run: ReadmeTests compares the two line by line.
