/// Why a test cannot go on: what was waited for and did not happen.
public struct TestFailure: Error, CustomStringConvertible {
  /// A sentence for whoever reads the test's output.
  public let description: String

  /// Creates a failure.
  /// - Parameter description: a sentence for whoever reads the test's output.
  public init(_ description: String) { self.description = description }
}
