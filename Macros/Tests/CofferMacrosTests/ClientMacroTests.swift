import SwiftDiagnostics
import Testing

@testable import CofferMacrosPlugin

@Suite("The macro @Client writes what is missing")
struct ClientMacroTests {
  private let methods = """
    func persistState() async throws { try await persistence.save(theme, for: "theme") }
    func restoreState() async throws {}
    """

  // Requirement 1.20
  @Test func aCompleteClientStaysAsItIs() {
    let client = """
      struct A: Persistable {
        static let persistedKeys = ["theme"]
        let persistence: PersistenceCapability
        @ClientState var theme: Theme = .system
        \(methods)
      }
      """
    let expansion = Expansion("@Client\n" + client, conformances: [])
    #expect(expansion.findings == [])
    #expect(expansion.contains(client))
    #expect(!expansion.text.contains("extension") && !expansion.text.contains("init("))
  }

  // Requirement 1.20
  @Test func allIsWrittenForPropertiesAlone() {
    let expansion = Expansion("@Client struct A {\n  @ClientState var theme = 1\n  @ClientState var `in` = 2\n}")
    #expect(expansion.findings == [])
    #expect(expansion.contains("let persistence: any CofferPersistence.PersistenceCapability"))
    #expect(expansion.contains(#"nonisolated static var persistedKeys: [String] {"#))
    #expect(expansion.contains(#"["theme", "in"]"#))
    #expect(
      expansion.contains(
        """
        func persistState() async throws {
          try await persistence.save(self.theme, for: "theme")
          try await persistence.save(self.`in`, for: "in")
        }
        """))
    #expect(
      expansion.contains(
        """
        if let saved = try await persistence.load(Swift.type(of: self.`in`), for: "in") {
          self.`in` = saved
        }
        """))
    #expect(expansion.contains("extension A: CofferPersistence.Persistable {\n}"))
    #expect(!expansion.text.contains("init("), "The memberwise initializer would be gone.")
  }

  @Test("Only the properties that persistedKeys names are stored")
  func someProperties() {
    let expansion = Expansion(
      """
      @Client struct A {
        static var persistedKeys: [String] { ["b"] }
        @ClientState var a = 1
        @ClientState var b = 2
      }
      """)
    #expect(expansion.findings == [])
    #expect(expansion.text.contains("save(self.b") && !expansion.text.contains("save(self.a"))
    #expect(!expansion.text.contains("nonisolated static"))
  }

  @Test("Keys that are no literals may name all properties")
  func computedKeys() {
    let expansion = Expansion("@Client struct A { static let persistedKeys = names; @ClientState var a = 1 }")
    #expect(expansion.findings == [] && expansion.text.contains("save(self.a"))
  }

  @Test("A type with methods of its own keeps them")
  func methodsOfItsOwn() {
    let expansion = Expansion("@Client struct A { @ClientState var a = 1; func persistState() {} }")
    #expect(expansion.findings == [] && expansion.contains("extension A: CofferPersistence.Persistable {"))
    #expect(!expansion.text.contains("restoreState") && !expansion.text.contains("persistedKeys"))
  }

  @Test("Classes and actors get an initializer if they declare none")
  func initializers() {
    let state = "@ClientState var a = 1"
    let initializer =
      "init(persistence: any CofferPersistence.PersistenceCapability) {\n  self.persistence = persistence\n}"
    #expect(Expansion("@Client final class A { \(state) }").contains("\n" + initializer))
    #expect(Expansion("@Client actor A { \(state) }").contains("\n" + initializer))
    #expect(Expansion("@Client open class A { \(state) }").contains("public " + initializer))
    #expect(!Expansion("@Client struct A { \(state) }").text.contains("init("))
    #expect(
      !Expansion("@Client actor A { \(state)\n init(a: Int) { b(a) } }").text.contains(
        "persistence: any CofferPersistence.PersistenceCapability)"))
    #expect(!Expansion("@Client actor A { let persistence: ClientPersistence; \(state) }").text.contains("init("))
  }

  @Test func theMembersOfAPublicTypeArePublic() {
    let expansion = Expansion("@Client public actor A { @ClientState var a = 1 }")
    for member in ["let persistence", "nonisolated static var", "func persistState", "func restoreState", "init("] {
      #expect(expansion.text.contains("public " + member), "\(member)")
    }
  }

  @Test func aTypeWithoutStoredStateIsAClient() {
    let expansion = Expansion("@Client struct A { var now: Int { 1 } }")
    #expect(expansion.findings == [])
    #expect(expansion.contains("extension A: CofferPersistence.Client {\n}"))
    #expect(!expansion.text.contains("persistence"))
  }

  @Test func aNestedTypeIsExtendedByItsFullName() {
    let expansion = Expansion("enum Outer { @Client struct A { @ClientState var a = 1 } }")
    #expect(expansion.contains("extension Outer.A: CofferPersistence.Persistable {"))
  }
}
