/// The addresses of clients and proxies as text.
public enum PeerAddress {
  /// Returns the one spelling of a numeric address, as peers of connections have it, without brackets, port and zone;
  /// an IPv4 address that IPv6 maps is such. Returns `nil` for any other text.
  public static func canonical(_ text: String) -> String? {
    var text = text[...]
    if text.first == "[", let end = text.firstIndex(of: "]") {
      text = text[..<end].dropFirst()
    } else if text.count(where: { $0 == ":" }) == 1 {
      text = text.prefix { $0 != ":" }
    }
    guard let address = NetworkAddress(String(text.prefix { $0 != "%" })) else { return nil }
    let isMapped = address.bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
    return (isMapped ? NetworkAddress(bytes: Array(address.bytes[12...])) ?? address : address).description
  }

  /// Returns what one client can choose addresses of: the network of 64 bits of an IPv6 address, or the address.
  public static func network(of peer: String) -> String {
    guard let bytes = NetworkAddress(peer)?.bytes, bytes.count == 16 else { return peer }
    return NetworkAddress(bytes: bytes[..<8] + [UInt8](repeating: 0, count: 8))?.description ?? peer
  }
}
