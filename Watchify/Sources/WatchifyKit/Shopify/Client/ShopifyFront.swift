import Foundation

/// Shopify's own servers, told by what another server cannot claim: names that are Shopify's, and its own networks.
///
/// Headers tell nothing: any server can send Shopify's.
enum ShopifyFront {
  /// Whether an answer came from one of them.
  /// - Parameters:
  ///   - url: what was asked for.
  ///   - peer: the address that answered, where it is known.
  static func serves(_ url: URL, _ peer: String?) -> Bool {
    guard url.scheme == "https" else { return false }
    let host = url.host?.lowercased() ?? ""
    if host.hasSuffix(".myshopify.com") || host.hasSuffix(".shopify.com") { return true }
    guard let address = peer.flatMap({ NetworkAddress($0) }) else { return false }
    return networks.contains { $0.network.count <= address.bytes.count && address.isIn($0.network, $0.length) }
      && address.scope == .internet
  }

  /// Where shops with a name of their own point it (AS62679): 23.227.38.65 and shops.myshopify.com are among them.
  private static let networks: [(network: [UInt8], length: Int)] = [
    ([23, 227, 32], 19), ([0x26, 0x20, 0x01, 0x27, 0xF0, 0x0F], 48),
  ]
}
