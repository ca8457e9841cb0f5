import Foundation
import Testing

@testable import WatchifyWeb

/// The contrast of the colours of both schemes (WCAG 2.2, 1.4.3 and 1.4.11).
@Suite("Contrast") struct ContrastTests {
  enum Scheme: String, CaseIterable { case light, dark }

  private static let style = String(decoding: Assets.style.bytes, as: UTF8.self)

  /// Returns the value of a custom property in a scheme.
  private func color(_ name: String, _ scheme: Scheme) throws -> [Double] {
    let blocks = Self.style.components(separatedBy: ":root {").dropFirst().prefix(2).map {
      $0.components(separatedBy: "}")[0]
    }
    let block = try #require(scheme == .light ? blocks.first : blocks.last)
    let match = try #require(block.firstMatch(of: try Regex("--\(name): #([0-9a-f]{6})")))
    let digits = try #require(match.output[1].substring)
    let number = try #require(Int(digits, radix: 16))
    return [number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF].map { Double($0) / 255 }
  }

  private func luminance(_ color: [Double]) -> Double {
    let linear = color.map { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
  }

  private func contrast(_ one: String, _ other: String, _ scheme: Scheme) throws -> Double {
    let lights = [luminance(try color(one, scheme)), luminance(try color(other, scheme))].sorted()
    return (lights[1] + 0.05) / (lights[0] + 0.05)
  }

  @Test("The formula gives the known values")
  func formula() {
    #expect(abs((luminance([1, 1, 1]) + 0.05) / (luminance([0, 0, 0]) + 0.05) - 21) < 0.001)
  }

  @Test("Text has a contrast of 4.5 at least", arguments: Scheme.allCases)
  func text(_ scheme: Scheme) throws {
    let pairs = [
      ("text", "page"), ("text", "raised"), ("text", "shade"), ("soft", "page"), ("soft", "raised"),
      ("accent", "page"), ("accent", "raised"), ("on-accent", "accent"), ("alert", "page"), ("page", "alert"),
    ]
    for (one, other) in pairs {
      let ratio = try contrast(one, other, scheme)
      #expect(ratio >= 4.5, "\(one) on \(other), \(scheme): \(ratio)")
    }
  }

  @Test("Lines of charts and edges of controls have a contrast of 3 at least", arguments: Scheme.allCases)
  func graphics(_ scheme: Scheme) throws {
    for (one, other) in [("control", "page"), ("accent", "page"), ("accent", "shade"), ("text", "shade")] {
      let ratio = try contrast(one, other, scheme)
      #expect(ratio >= 3, "\(one) on \(other), \(scheme): \(ratio)")
    }
  }
}
