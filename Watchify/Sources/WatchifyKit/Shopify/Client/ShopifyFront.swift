import Foundation

/// Recognizes Shopify's own servers by what another server cannot claim: Shopify's host names and networks.
///
/// Headers are no evidence, because any server can send them.
enum ShopifyFront {
  /// Returns whether a response came from one of Shopify's servers.
  /// - Parameters:
  ///   - url: the requested URL.
  ///   - peer: the address that responded, if known.
  static func serves(_ url: URL, _ peer: String?) -> Bool {
    guard url.scheme == "https" else { return false }
    let host = url.host?.lowercased() ?? ""
    if host.hasSuffix(".myshopify.com") || host.hasSuffix(".shopify.com") { return true }
    guard let address = peer.flatMap({ NetworkAddress($0) }) else { return false }
    return networks.contains { $0.network.count <= address.bytes.count && address.isIn($0.network, $0.length) }
      && address.scope == .internet
  }

  /// The networks of shops with their own domain (AS62679), which include 23.227.38.65 and shops.myshopify.com.
  private static let networks: [(network: [UInt8], length: Int)] = [
    ([23, 227, 32], 19), ([0x26, 0x20, 0x01, 0x27, 0xF0, 0x0F], 48),
  ]
}
