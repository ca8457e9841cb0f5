/// The label that a store has by default: its kind and the last part of its address, such as `sqlite:shop.db` or
/// `file:notes`; that of a server is its database and its name there, `postgresql:app/shop`.
///
/// A store that is moved to another directory keeps it; one that is renamed does not.
/// - Parameter location: the location of the store, as `StorageEngine.description` states it.
package func standardLabel(of location: String) -> String {
  let scheme = location.prefix { $0 != ":" }
  let address = location.dropFirst(scheme.count + 1)
  let name = address.split(separator: "/").last ?? ""
  if scheme == "prefs" { return scheme + ":" + (name.hasSuffix(".plist") ? name.dropLast(".plist".count) : name) }
  // How a server is reached is no part of the name: hosts may change, and a location can be written in several ways.
  guard scheme == "postgresql", let mark = name.firstIndex(of: "?") else { return scheme + ":" + name }
  let store = name[mark...].dropFirst().split(separator: "&").first { $0.hasPrefix("store=") }
  return scheme + ":" + name[..<mark] + "/" + (store?.dropFirst("store=".count) ?? "")
}
