import CofferMacros

// With the properties alone: the macro writes the rest. The article on clients shows this type.
@Client
struct Layout {
  @ClientState var columns = 2
  @ClientState var title: String? = nil
}

// Only what persistedKeys names is stored.
@Client
public actor Reader<Page: Codable & Sendable> {
  public static var persistedKeys: [String] { ["page"] }
  @ClientState var page: Page?
  @ClientState var speed = 1.0

  func move(to page: Page) { self.page = page }

  init(persistence: any PersistenceCapability, page: Page? = nil) {
    self.persistence = persistence
    _page = ClientState(wrappedValue: page)
  }
}

@Client
@MainActor
final class Window {
  @ClientState var width = 800
  @ClientState var `default` = true
}

// Stores nothing, so that it is a client and no more.
@Client
struct Calculator {}
