// Feeds arbitrary bytes to the decoder of shops' pages, and the same as text to the reader of shops' addresses.
// ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, so that a run shows that failures are seen.

import CFuzzer
import Foundation
import WatchifyKit

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  if let products = try? ShopifyProduct.page(Data(bytes)) {
    precondition(!(isCanary && products.count == 1), "the canary: a failure must be seen")
    for product in products {
      precondition(!product.variants.contains { $0.title.utf8.count > count }, "text comes from nowhere")
    }
    precondition((try? ShopifyProduct.page(Data(bytes))) == products, "the same bytes are read differently")
  }
  let text = String(decoding: bytes.prefix(300), as: UTF8.self)
  if let address = try? ShopAddress(text) {
    precondition((try? ShopAddress(address.domain))?.domain == address.domain, "an address is read differently")
  }
  if let price = Price(text) { precondition(Price(price.description) == price, "a price is written differently") }
  return 0
}

@main enum FuzzFeed {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
