import Foundation

/// The characters that a ``StepChart`` is drawn with.
public struct ChartGlyphs: Sendable {
  /// A line's characters by the sides on which they are connected: up 1, down 2, left 4, right 8.
  let line: [Character]
  /// The same for the dashed line.
  let dashed: [Character]
  let soldOut: Character
  let low: Character
  let high: Character
  let axis: Character
  /// The value axis where it has a label.
  let valueTick: Character
  let corner: Character
  let timeline: Character
  let timeTick: Character
  /// The dashed line in the legend.
  var dash: Character { dashed[12] }

  /// Box-drawing characters, for terminals that show UTF-8.
  public static let unicode = ChartGlyphs(
    line: Array(" ╵╷│╴┘┐┤╶└┌├─┴┬┼"), dashed: Array(" ╎╎╎╌┘┐┤╌└┌├╌┴┬┼"), soldOut: "░", low: "▼", high: "▲", axis: "│",
    valueTick: "┤", corner: "└", timeline: "─", timeTick: "┬")

  /// ASCII characters, for terminals without Unicode.
  public static let ascii = ChartGlyphs(
    line: Array(" |||-+++-+++-+++"), dashed: Array(" :::............"), soldOut: "/", low: "v", high: "^",
    axis: "|", valueTick: "+", corner: "+", timeline: "-", timeTick: "+")

  /// The glyphs that the environment allows: ``unicode`` where the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is not
  /// empty names UTF-8, else ``ascii``.
  public static var ofEnvironment: ChartGlyphs {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"]
    let locale = names.lazy.compactMap { getenv($0).map { String(cString: $0) } }.first { !$0.isEmpty } ?? ""
    let charset = locale.lowercased().split(separator: ".").last ?? ""
    return charset.hasPrefix("utf-8") || charset.hasPrefix("utf8") ? .unicode : .ascii
  }
}
