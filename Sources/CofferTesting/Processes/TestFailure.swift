/// An error that ends a test, such as an expected event that did not happen.
public struct TestFailure: Error, CustomStringConvertible {
  /// The description of the failure in the test's output.
  public let description: String

  /// Creates a failure.
  /// - Parameter description: the description of the failure in the test's output.
  public init(_ description: String) { self.description = description }
}
