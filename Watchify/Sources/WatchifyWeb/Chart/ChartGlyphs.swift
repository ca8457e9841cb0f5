import Foundation

/// The characters that a ``StepChart`` is drawn with.
public struct ChartGlyphs: Sendable {
  /// The characters of a line, indexed by the sides on which they connect: up 1, down 2, left 4, right 8.
  let line: [Character]
  /// The characters of the dashed line, indexed like ``line``.
  let dashed: [Character]
  let soldOut: Character
  let low: Character
  let high: Character
  let axis: Character
  /// The character of the value axis in a row with a label.
  let valueTick: Character
  let corner: Character
  let timeline: Character
  let timeTick: Character
  /// The character of the dashed line in the legend.
  var dash: Character { dashed[12] }

  /// Box-drawing characters, for terminals that show UTF-8.
  public static let unicode = ChartGlyphs(
    line: Array(" ╵╷│╴┘┐┤╶└┌├─┴┬┼"), dashed: Array(" ╎╎╎╌┘┐┤╌└┌├╌┴┬┼"), soldOut: "░", low: "▼", high: "▲", axis: "│",
    valueTick: "┤", corner: "└", timeline: "─", timeTick: "┬")

  /// ASCII characters, for terminals without Unicode.
  public static let ascii = ChartGlyphs(
    line: Array(" |||-+++-+++-+++"), dashed: Array(" :::............"), soldOut: "/", low: "v", high: "^",
    axis: "|", valueTick: "+", corner: "+", timeline: "-", timeTick: "+")

  /// The glyphs that the locale supports: ``unicode`` if the first non-empty variable of `LC_ALL`, `LC_CTYPE` and
  /// `LANG` names UTF-8, otherwise ``ascii``.
  public static var ofEnvironment: ChartGlyphs {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"]
    let locale = names.lazy.compactMap { getenv($0).map { String(cString: $0) } }.first { !$0.isEmpty } ?? ""
    let charset = locale.lowercased().split(separator: ".").last ?? ""
    return charset.hasPrefix("utf-8") || charset.hasPrefix("utf8") ? .unicode : .ascii
  }
}
