/// The label that a store has by default in a router: the kind of the store and the last part of its address, such as
/// `sqlite:shop.db` or `file:notes`.
///
/// A store that is moved to another directory keeps it; one that is renamed does not.
/// - Parameter location: the location of the store, as `StorageEngine.description` states it.
package func standardLabel(of location: String) -> String {
  let scheme = location.prefix { $0 != ":" }
  let address = location.dropFirst(scheme.count + 1)
  return scheme + ":" + (address.split(separator: "/").last ?? "")
}
