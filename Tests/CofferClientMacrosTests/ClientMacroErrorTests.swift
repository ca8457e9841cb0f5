#if Macros
  import SwiftDiagnostics
  import Testing

  @testable import CofferClientMacros

  @Suite("The macro @Client reports mistakes where they are")
  struct ClientMacroErrorTests {
    /// A client with methods of its own that saves the key `theme`.
    private func client(_ members: String, saving statement: String? = nil) -> String {
      """
      @Client struct A {
        let persistence: any PersistenceCapability
        @ClientState var theme = 1
        \(members)
        func persistState() async throws { \(statement ?? #"try await persistence.save(theme, for: "theme")"#) }
        func restoreState() async throws {}
      }
      """
    }

    /// Expects one error, and the conformance, without which there would be more of them.
    private func expectError(_ source: String, line: Int, _ text: String) {
      let expansion = Expansion(source)
      #expect(expansion.findings.map(\.line) == [line], "\(source)")
      #expect(
        expansion.findings.allSatisfy { $0.severity == .error && $0.text.contains(text) }, "\(expansion.findings)")
      for part in ["extension A: Coffer.Persistable", "persistedKeys", "func persistState()", "func restoreState()"] {
        #expect(expansion.text.contains(part), "\(part)")
      }
    }

    @Test(arguments: ["enum A {}", "protocol A {}", "extension A {}"])
    func otherTypesAreNoClients(_ type: String) {
      let expansion = Expansion("@Client\n" + type)
      #expect(
        expansion.findings.map(\.text).allSatisfy { $0.contains("belongs on a struct, a class or an actor") })
      #expect(expansion.findings.count == 1 && !expansion.text.contains("Coffer."))
    }

    @Test func aKeyThatIsSavedIsDeclared() {
      let keys = #"static let persistedKeys = ["theme"]"#
      #expect(Expansion(client(keys)).findings == [])
      let saved = [
        "persistence.save(1, for: \"b\")", "self.persistence.save(1, for: \"b\")", "persistence.delete(key: \"b\")",
      ]
      for statement in saved {
        expectError(
          client(keys, saving: "try await " + statement), line: 5, "the key 'b', which is not in persistedKeys")
      }
      // These write no literal key with the client's own persistence.
      let others = [
        "persistence.save(1, for: key)", "other.save(1, for: \"b\")", "persistence.save(1, for: \"\\(prefix)b\")",
        "persistence.load(Int.self, for: \"b\")",
        "f(); let persistence = other; try await persistence.save(1, for: \"b\")",
      ]
      for statement in others {
        #expect(Expansion(client(keys, saving: "try await " + statement)).findings == [], "\(statement)")
      }
      let computed = "static let persistedKeys = [\"a\"] + more"
      #expect(Expansion(client(computed, saving: "try await persistence.save(1, for: \"b\")")).findings == [])
    }

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
      expectError(source, line: 3, "No @ClientState property has the name 'notifications'")
      let plain = source.replacing("@ClientState var notificationsEnabled", with: "var notifications")
      expectError(plain, line: 3, "'notifications' is not marked with @ClientState")
    }

    @Test func keysAreKeys() {
      expectError(client("static let persistedKeys = [\"theme\", \"\"]"), line: 4, "1 to 1,024 bytes")
      let long = String(repeating: "é", count: 513)
      expectError(client("static let persistedKeys = [\"theme\", \"\(long)\"]"), line: 4, "1 to 1,024 bytes")
      let double = Expansion(client("static let persistedKeys = [\"theme\", \"theme\"]"))
      #expect(double.findings.map(\.severity) == [.warning] && double.findings[0].text.contains("listed twice"))
    }

    @Test func keysThatCannotBeSeen() {
      let source = "@Client struct A {\n static let persistedKeys = names\n @ClientState var a = 1\n}"
      expectError(source, line: 2, "cannot see these keys")
      expectError(source.replacing("names", with: "[\"a\", name]"), line: 2, "cannot see these keys")
    }

    @Test func oneMethodNeedsTheOther() {
      expectError(
        "@Client struct A {\n @ClientState var a = 1\n func persistState() {}\n}", line: 3, "without restoreState()")
      expectError(
        "@Client struct A {\n @ClientState var a = 1\n func restoreState() {}\n}", line: 3, "without persistState()")
    }

    @Test func stateIsOfAnInstance() {
      expectError("@Client struct A {\n @ClientState static var a = 1\n}", line: 2, "'a' is static")
    }

    @Test func aPersistableClientStoresSomething() {
      expectError("@Client struct A: Coffer.Persistable {\n}", line: 1, "A stores nothing")
    }

    @Test func stateUnderAConditionIsStoredByHand() {
      let source = "@Client struct A {\n #if DEBUG\n @ClientState var a = 1\n #endif\n}"
      expectError(source, line: 3, "'a' is inside '#if'")
      let byHand = source.dropLast() + "func persistState() {}\n func restoreState() {}\n}"
      #expect(Expansion(String(byHand)).findings == [])
    }

    @Test func anObserverMakesAssignmentsMutating() {
      let source = "@Client struct A {\n @ClientState var a = 1 { didSet { b() } }\n}"
      expectError(source, line: 2, "'a' has an observer")
      #expect(Expansion(source.replacing("struct", with: "actor")).findings == [])
    }

    @Test func aValueWithoutOneNeedsAnInitializer() {
      let actor = "@Client actor A {\n @ClientState var a = 1\n let limit: Int\n}"
      expectError(actor, line: 3, "'limit' has no value")
      #expect(Expansion(actor.replacing("actor", with: "struct")).findings == [])
      #expect(Expansion(actor.replacing("let limit: Int", with: "var limit: Int?")).findings == [])
      #expect(Expansion(actor.replacing("let limit: Int", with: "@Other var limit: Int")).findings == [])
      #expect(Expansion(actor.replacing("let limit: Int", with: "var limit: Int { 1 }")).findings == [])
      #expect(Expansion(actor.replacing("let limit: Int", with: "let limit: Int\n init() {}")).findings == [])
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
#endif
