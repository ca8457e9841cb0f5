/// An error that reports that a message was not sealed with this key and this associated data, or was changed since.
/// It does not distinguish these cases.
package struct AuthenticationFailure: Error, Hashable {
  package init() {}
}
