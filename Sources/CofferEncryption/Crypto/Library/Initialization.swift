/// Initializes the cryptographic library, so that its handler of `exit`, if another library has requested one, is
/// registered before those that encrypt.
package func initializeCryptography() { _ = Cryptography.isReady }
