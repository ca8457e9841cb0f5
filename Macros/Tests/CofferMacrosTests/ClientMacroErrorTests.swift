import Testing

@testable import CofferMacrosPlugin

@Suite("The macro @Client reports mistakes where they are")
struct ClientMacroErrorTests {
  @Test(arguments: ["enum A {}", "protocol A {}", "extension A {}"])
  func otherTypesAreNoClients(_ type: String) {
    let expansion = Expansion("@Client\n" + type)
    #expect(
      expansion.findings.map(\.text).allSatisfy { $0.contains("belongs on a struct, a class or an actor") })
    #expect(expansion.findings.count == 1 && !expansion.text.contains("CofferPersistence."))
  }

  // Requirement 1.20
  @Test func aKeyNamesAPropertyIfTheMethodsAreAbsent() {
    let source = """
      @Client struct A {
        static let persistedKeys = [
          "theme", "notifications"
        ]
        @ClientState var theme = 1
        @ClientState var notificationsEnabled = true
      }
      """
    let expansion = Expansion(source)
    #expect(expansion.findings.map(\.line) == [3])
    #expect(expansion.findings.allSatisfy { $0.text.contains("has the name \"notifications\"") })
    // Without the conformance there would be more errors.
    for part in ["extension A: CofferPersistence.Persistable", "func persistState()", "func restoreState()"] {
      #expect(expansion.text.contains(part), "\(part)")
    }
    #expect(Expansion(source.replacing("\n}", with: "\n func persistState() {}\n}")).findings == [])
  }

  @Test(arguments: [
    "@Client", "@Client struct", "@Client struct A {", "@Client struct A { @ClientState }",
    "@Client struct A { @ClientState var }", "@Client struct A { @ClientState var (a, b) = (1, 2) }",
    "@Client class { static let persistedKeys = [,] }", "@Client actor A { func persistState( }",
    "@Client struct A { static let persistedKeys: = [\"\\(\"] }", "@Client @Client struct A {}",
  ])
  func unfinishedCodeDoesNotStopTheCompiler(_ source: String) {
    #expect(Expansion(source).text.count >= 0)
  }
}
