import Foundation
import Testing

@testable import CofferTerminal

@Suite("Manual pages are generated from the table")
struct ManualTests {
  private let page = ManualPage<Market>(date: Date(timeIntervalSince1970: 1_700_000_000)).source

  @Test("Every command, operand, option, section and status is in it")
  func contents() {
    #expect(page.hasPrefix(".TH \"MARKET\" 1 2023-11-14 \"market 2.3.4\" \"User Commands\"\n.SH \"NAME\"\n"))
    #expect(page.contains("\nmarket \\- look at stalls\n"))
    for command in Market.allCases {
      #expect(page.contains("\n.SS \"\(command.rawValue)\"\n.SY \"market \(command.rawValue)\"\n"))
      #expect(
        page.contains("\n\(command.syntax.summary.prefix(1).uppercased() + command.syntax.summary.dropFirst()).\n"))
    }
    #expect(page.contains("\n[\\fIOPTIONS\\fP] \\fISTALL\\fP...\n"))
    #expect(page.contains("\n.TP\n\\fB\\-\\-colour\\fP \\fIWHEN\\fP\nwhether it\\(aqs in colour\n"))
    #expect(page.contains("\n.SH \"STALLS\"\nEach sells\nsomething:\n.TP\n\\fBpears\\fP\nsoft\n"))
    #expect(page.contains("\n.TP\n\\fB130\\fP\nit was interrupted\n"))
    #expect(page.hasSuffix("Go there.\n"))
  }

  @Test("Text is never a request, and is printed as it is")
  func escapes() {
    #expect(Roff.text(".TH evil") == "\\&.TH evil")
    #expect(Roff.text("'br") == "\\&\\(aqbr")
    #expect(Roff.text(#"a\fB-'`^~"#) == #"a\efB\-\(aq\(ga\(ha\(ti"#)
    #expect(Roff.text("é …") == "\\[u00E9] \\[u2026]")
    #expect(Roff.text("a\n.so /etc/passwd\u{1B}[1m") == "a .so /etc/passwd[1m")
    var roff = Roff()
    roff.request("SH", ["a \"b\"\n.so"])
    roff.paragraph("one\n.two\n\n  three")
    #expect(roff.source == ".SH \"a \\(dqb\\(dq .so\"\n.P\n.nf\none\n\\&.two\n  three\n.fi\n")
  }

  @Test("The date is that of SOURCE_DATE_EPOCH")
  func date() {
    let dated = ManualPage<Market> { $0 == "SOURCE_DATE_EPOCH" ? "0" : nil }.source
    #expect(dated.hasPrefix(".TH \"MARKET\" 1 1970-01-01 "))
  }
}
