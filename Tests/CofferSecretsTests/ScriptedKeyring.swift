#if SecretService && os(Linux)
  import CofferBus
  import CofferTesting
  import CofferTestSupport
  import Foundation

  /// A keyring that does what a test says: a small program on a private bus.
  final class ScriptedKeyring: Sendable {
    /// Debian's own Python has the modules.
    private static let python = "/usr/bin/python3"
    /// Whether the bus and the modules are installed.
    static let isInstalled =
      PrivateKeyring.isInstalled && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/dbus")

    private let directory: TemporaryDirectory
    private let program: RunningProgram

    /// Starts the program and waits until it owns the name of the keyring.
    /// - Parameter behavior: what it does beside a keyring's usual replies; the script lists the names.
    init(_ behavior: String, on bus: PrivateKeyring) throws {
      directory = try TemporaryDirectory()
      let process = Process()
      process.executableURL = URL(fileURLWithPath: Self.python)
      process.arguments = ["-c", Self.script, behavior, directory.path("calls")]
      var variables = ProcessInfo.processInfo.environment
      variables["DBUS_SESSION_BUS_ADDRESS"] = bus.address
      process.environment = variables
      program = try RunningProgram(process, in: directory.url, deadline: 300)
      let connection = try BusConnection(address: bus.address, timeout: .seconds(20))
      try blockUntil("the scripted keyring starts") { try connection.owner(of: "org.freedesktop.secrets") != nil }
    }

    deinit { program.signal(SIGKILL) }

    /// The names of the methods that were called, in order.
    var calls: [String] {
      ((try? String(contentsOfFile: directory.path("calls"), encoding: .utf8)) ?? "").split(separator: "\n").map(
        String.init)
    }

    /// The behaviors: `prompts` answers each prompt by itself, as KeePassXC does; `asks` never answers one; `declines`
    /// answers each as dismissed; `late` carries out what is asked for when its prompt is dismissed; `mute` does not
    /// even answer a dismissal; `locks` unlocks items by a prompt, and `keeps` asks for it in vain; `slow` takes half a
    /// second to delete an item; `claims` has 300,000 items; `type` opens a session with a malformed reply; `secrets`
    /// sends secrets that cannot be decrypted. The collection `locked` is always locked and shows no items.
    private static let script = """
      import dbus, dbus.service, dbus.mainloop.glib, os, sys, time
      from gi.repository import GLib
      behavior, log = sys.argv[1], open(sys.argv[2], "a", buffering=1)
      dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
      bus = dbus.SessionBus()
      S, C, I, P = ["org.freedesktop.Secret." + name for name in ("Service", "Collection", "Item", "Prompt")]
      PROPERTIES = "org.freedesktop.DBus.Properties"
      ROOT, LOGIN = "/org/freedesktop/secrets", "/org/freedesktop/secrets/collection/login"
      PRIME = int("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
        "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
        "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)
      items, objects, unlocked = {}, [], []
      asks = behavior in ("prompts", "asks", "declines", "late", "mute")

      class Prompt(dbus.service.Object):
          def __init__(self, act):
              self.act = act
              self.path = dbus.ObjectPath(ROOT + "/prompt/p%d" % len(objects))
              objects.append(self)
              dbus.service.Object.__init__(self, bus, self.path)
          @dbus.service.method(P, in_signature="s")
          def Prompt(self, window):
              log.write("Prompt\\n")
              if behavior in ("prompts", "locks"): GLib.idle_add(lambda: self.Completed(False, self.act()) and False)
              if behavior == "declines": GLib.idle_add(lambda: self.Completed(True, "") and False)
          @dbus.service.method(P)
          def Dismiss(self):
              log.write("Dismiss\\n")
              if behavior == "late": self.Completed(False, self.act())
              elif behavior != "mute": self.Completed(True, "")
          @dbus.service.signal(P, signature="bv")
          def Completed(self, dismissed, result): pass

      def prompting(act):
          return ("/", Prompt(act).path) if asks else (act(), "/")

      class Item(dbus.service.Object):
          def __init__(self, properties, secret):
              self.path = dbus.ObjectPath(LOGIN + "/i%d" % len(objects))
              objects.append(self)
              items[self.path] = self
              self.properties, self.secret = properties, secret
              if asks: self.properties["Attributes"].update({"Uuid": str(len(objects)), "Path": "/x"})
              dbus.service.Object.__init__(self, bus, self.path)
          @dbus.service.method(I, out_signature="o")
          def Delete(self):
              log.write("Delete\\n")
              if behavior == "slow": time.sleep(0.5)
              def act():
                  del items[self.path]
                  self.remove_from_connection()
                  return dbus.String("")
              return prompting(act)[1] if asks else (act() or dbus.ObjectPath("/"))
          @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
          def GetAll(self, interface):
              log.write("GetAll\\n")
              locked = dbus.Boolean(behavior in ("locks", "keeps") and self.path not in unlocked)
              return dict(self.properties, Locked=locked, Created=dbus.UInt64(1), Modified=dbus.UInt64(1))
          @dbus.service.method(PROPERTIES, in_signature="ssv")
          def Set(self, interface, name, value):
              if "Uuid" in value: raise dbus.DBusException(name="org.freedesktop.DBus.Error.InvalidArgs")
              if asks: self.properties[name].update(value)
              else: self.properties[name] = value

      class Claimed(dbus.service.FallbackObject):
          @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}", path_keyword="path")
          def GetAll(self, interface, path):
              attributes = dbus.Dictionary({"service": "com.example.shop", "account": path[-6:]}, signature="ss")
              return {"Locked": dbus.Boolean(False), "Label": "x", "Attributes": attributes}

      class Collection(dbus.service.Object):
          @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v", path_keyword="path")
          def Get(self, interface, name, path): return dbus.Boolean(path.endswith("/locked"))
          @dbus.service.method(C, in_signature="a{ss}", out_signature="ao")
          def SearchItems(self, wanted):
              log.write("SearchItems\\n")
              if behavior == "claims": return [dbus.ObjectPath("/claimed/x%06d" % n) for n in range(300000)]
              attributes = lambda item: item.properties["Attributes"]
              found = [p for p, i in items.items() if all(attributes(i).get(k) == v for k, v in wanted.items())]
              return dbus.Array(found, signature="o")
          @dbus.service.method(C, in_signature="a{sv}(oayays)b", out_signature="oo")
          def CreateItem(self, properties, secret, replace):
              log.write("CreateItem\\n")
              short = {name[len(I) + 1:]: value for name, value in properties.items()}
              return prompting(lambda: Item(short, secret).path)

      class Service(dbus.service.Object):
          @dbus.service.method(S, in_signature="sv", out_signature="vo")
          def OpenSession(self, algorithm, key):
              session = dbus.ObjectPath(ROOT + "/session/s1")
              if algorithm == "plain": return (dbus.String(""), session)
              if behavior == "type": return (dbus.String("no key"), session)
              if behavior != "secrets":
                  raise dbus.DBusException(name="org.freedesktop.DBus.Error.NotSupported")
              return (dbus.ByteArray(pow(2, 12345678901234567890, PRIME).to_bytes(128, "big")), session)
          @dbus.service.method(S, in_signature="s", out_signature="o")
          def ReadAlias(self, name): return dbus.ObjectPath(LOGIN)
          @dbus.service.method(S, in_signature="ao", out_signature="aoo")
          def Unlock(self, paths):
              log.write("Unlock\\n")
              act = lambda: unlocked.extend(paths) or dbus.Array(paths, signature="o")
              return (dbus.Array([], signature="o"), Prompt(act).path)
          @dbus.service.method(S, in_signature="aoo", out_signature="a{o(oayays)}")
          def GetSecrets(self, paths, session):
              def secret(path):
                  if behavior != "secrets": return items[path].secret
                  parameters = {"i": 15, "j": 0}.get(path[-1], 16)
                  return dbus.Struct((session, dbus.ByteArray(bytes(parameters)), dbus.ByteArray(
                      bytes({"k": 17, "l": 0}.get(path[-1], 32))), "text/plain"), signature="oayays")
              found = {path: secret(path) for path in paths if path in items or behavior == "secrets"}
              return dbus.Dictionary(found, signature="o(oayays)")

      keep = [Service(bus, ROOT), Collection(bus, LOGIN), Claimed(bus, "/claimed")]
      locked = Collection(bus, ROOT + "/collection/locked")
      name = dbus.service.BusName("org.freedesktop.secrets", bus)
      GLib.MainLoop().run()
      """
  }
#endif
