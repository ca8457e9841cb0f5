import Coffer
import Foundation

/// Output for people. Colours and progress appear on a terminal only, and nothing is printed with `--json`.
struct Console: Sendable {
  let isQuiet: Bool
  private let isTerminal: Bool
  private let hasColours: Bool

  init(isQuiet: Bool) {
    self.isQuiet = isQuiet
    isTerminal = isatty(STDOUT_FILENO) == 1
    let variables = ProcessInfo.processInfo.environment
    hasColours = isTerminal && (variables["NO_COLOR"] ?? "").isEmpty && variables["TERM"] != "dumb"
  }

  enum Style: String {
    case bold = "1"
    case faint = "2"
    case red = "1;31"
    case green = "32"
    case cyan = "1;36"
  }

  func styled(_ text: String, _ style: Style) -> String {
    hasColours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  func line(_ text: String = "") {
    guard !isQuiet else { return }
    write((isTerminal ? "\r\u{1B}[K" : "") + text + "\n", to: STDOUT_FILENO)
  }

  /// Prints a line that the next one replaces.
  func progress(_ text: String) {
    guard !isQuiet, isTerminal else { return }
    write("\r\u{1B}[K   " + styled(text, .faint), to: STDOUT_FILENO)
  }

  func part(_ heading: String) {
    line()
    line(styled(heading, .bold))
  }

  func act(_ number: Int, _ heading: String) {
    line()
    line(styled("\(number). \(heading)", .cyan))
  }

  func result(_ isPassed: Bool, _ count: Int, _ what: String) {
    let number = grouped(count)
    let blanks = String(repeating: " ", count: max(0, 7 - number.count))
    line((isPassed ? styled("   ok    ", .green) : styled("   FAILED", .red)) + "\(blanks)\(number)  \(what)")
  }

  /// Prints rows of cells: the first column flush left, the others flush right.
  func table(_ header: [String], _ rows: [[String]]) {
    let widths = header.indices.map { column in
      max(header[column].count, rows.map { $0[column].count }.max() ?? 0)
    }
    func text(_ cells: [String]) -> String {
      let padded = cells.enumerated().map { column, cell in
        let blanks = String(repeating: " ", count: widths[column] - cell.count)
        return column == 0 ? cell + blanks : blanks + cell
      }
      let row = "   " + padded.joined(separator: "   ")
      return String(row.reversed().drop { $0 == " " }.reversed())
    }
    line(styled(text(header), .faint))
    for row in rows { line(text(row)) }
  }
}

/// Writes without buffering, so that the output of a killed process is complete. A closed pipe ends the program.
func write(_ text: String, to descriptor: Int32) {
  var bytes = Array(text.utf8)[...]
  while !bytes.isEmpty {
    let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    if count > 0 {
      bytes = bytes.dropFirst(count)
    } else if errno != EINTR {
      Cleanup.exit(1)
    }
  }
}

/// Returns a number with a comma between groups of three digits: 12,345.
func grouped(_ number: Int) -> String {
  var text = String(number.magnitude)
  var position = text.count - 3
  while position > 0 {
    text.insert(",", at: text.index(text.startIndex, offsetBy: position))
    position -= 3
  }
  return (number < 0 ? "-" : "") + text
}

/// Returns a number and its noun: "1 file", "2 files".
func counted(_ number: Int, _ noun: String) -> String { "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")" }

/// Returns seconds in a fitting unit: 850 µs, 12.3 ms, 4.56 s.
func duration(_ seconds: Double) -> String {
  switch seconds {
  case ..<0.001: "\(decimals(seconds * 1_000_000, seconds < 0.000_01 ? 1 : 0)) µs"
  case ..<1: "\(decimals(seconds * 1_000, 1)) ms"
  default: "\(decimals(seconds, 2)) s"
  }
}

func decimals(_ number: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", number) }

/// Returns the nanoseconds of the system's monotonic clock, which all processes share.
func monotonicNanoseconds() -> Int { Int(DispatchTime.now().uptimeNanoseconds) }

/// Returns the seconds since `start`, a result of ``monotonicNanoseconds()``.
func seconds(since start: Int) -> Double { Double(monotonicNanoseconds() - start) / 1e9 }
