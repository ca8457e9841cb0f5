// Feeds arbitrary bytes to the decoder of product pages and, as text, to the parsers of shop addresses and prices.
// ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import Foundation
import WatchifyKit

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  if let products = try? ShopifyProduct.page(Data(bytes)) {
    precondition(!(isCanary && products.count == 1), "the canary: a failure must be detected")
    for product in products {
      precondition(!product.variants.contains { $0.title.utf8.count > count }, "a title was longer than the input")
    }
    precondition((try? ShopifyProduct.page(Data(bytes))) == products, "the same bytes were decoded differently")
  }
  let text = String(decoding: bytes.prefix(300), as: UTF8.self)
  if let address = try? ShopAddress(text) {
    precondition((try? ShopAddress(address.domain))?.domain == address.domain, "an address was parsed differently")
  }
  if let price = Price(text) { precondition(Price(price.description) == price, "a price was changed by its text form") }
  return 0
}

@main enum FuzzFeed {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
