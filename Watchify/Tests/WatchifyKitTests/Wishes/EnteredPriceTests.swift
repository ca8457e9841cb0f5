import Foundation
import Testing

@testable import WatchifyKit

@Suite struct EnteredPriceTests {
  @Test(arguments: [
    ("70", "70"), ("179.90", "179.9"), ("67,90", "67.9"), ("67,9 €", "67.9"), ("$1,250", "1250"),
    ("1.250,50", "1250.5"),
    ("1,250.50", "1250.5"), ("1 250,00 kr", "1250"), ("CHF 1'250.00", "1250"), ("1,250,000", "1250000"),
    ("1.250.000", "1250000"), ("1.250", "1.25"), ("USD 5", "5"),
  ])
  func amounts(_ text: String, expected: String) {
    #expect(Price(entered: text)?.decimal == Decimal(string: expected))
  }

  @Test(arguments: ["", "free", "-5", "1e5", "5%6", "1.2.3,4,5", String(repeating: "9", count: 100), "١٢"])
  func others(_ text: String) { #expect(Price(entered: text) == nil) }
}
