package dev.interlock.testbed.server;

import dev.interlock.testbed.process.Program;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Workspace;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;

/**
 * A key and a self-signed certificate, which its peers must trust, made with the JDK's keytool.
 *
 * @param directory where the files are; they are to be deleted with it
 */
public record TlsIdentity(Path directory) {
  private static final String ALIAS = "server";

  private static final String THIS_MACHINE = "ip:127.0.0.1,dns:localhost";

  /** Protects nothing: the store lies beside the bare key, below a directory of this user's. */
  private static final String STORE_PASSWORD = "disposable";

  /**
   * Makes an identity of a test's own.
   *
   * @param parent a directory to be deleted after the test; the files are put into one below it
   * @param subject whom it is for, as keytool has it: {@code ip:127.0.0.1,dns:localhost}
   * @throws TestbedException if it cannot be made
   */
  public static TlsIdentity forSubject(Path parent, String subject) {
    try {
      Path directory = Files.createTempDirectory(parent, "tls-");
      make(directory, subject);
      return new TlsIdentity(directory);
    } catch (IOException e) {
      throw new TestbedException("cannot make a directory for a TLS identity", e);
    }
  }

  /** The identity that the servers of this workspace share, made when it is first asked for. */
  public static TlsIdentity of(Workspace workspace) {
    return new TlsIdentity(
        workspace.sharedDirectory("tls", directory -> make(directory, THIS_MACHINE)));
  }

  /** The certificate in PEM form. */
  public Path certificate() {
    return directory.resolve("server.pem");
  }

  /** The private key in PEM form, not encrypted. */
  public Path key() {
    return directory.resolve("server.key");
  }

  /** Trusts this certificate; and shows it to a server that asks, which trusts it as well. */
  public TlsTrust trust() {
    try {
      KeyManagerFactory shown =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      shown.init(load(store(directory)), STORE_PASSWORD.toCharArray());
      return TlsTrust.in(certificate(), shown.getKeyManagers());
    } catch (IOException | GeneralSecurityException e) {
      throw new TestbedException("cannot use a TLS identity: " + e.getMessage(), e);
    }
  }

  private static Path store(Path directory) {
    return directory.resolve("server.p12");
  }

  private static void make(Path directory, String subject) {
    Path store = store(directory);
    try {
      List<String> command = new ArrayList<>();
      command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
      command.addAll(List.of("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")); // starts faster
      command.addAll(
          List.of(
              "-genkeypair -storetype PKCS12 -keyalg EC -groupname secp256r1 -validity 3650"
                  .split(" ")));
      command.addAll(List.of("-keystore", store.toString(), "-storepass", STORE_PASSWORD));
      command.addAll(List.of("-alias", ALIAS, "-dname", "CN=interlock testbed"));
      command.addAll(List.of("-ext", "san=" + subject, "-ext", "bc:critical=ca:true"));
      Program.run(command);
      KeyStore keys = load(store);
      writePem(
          directory.resolve("server.pem"), "CERTIFICATE", keys.getCertificate(ALIAS).getEncoded());
      writePem(
          directory.resolve("server.key"),
          "PRIVATE KEY",
          keys.getKey(ALIAS, STORE_PASSWORD.toCharArray()).getEncoded());
    } catch (IOException | GeneralSecurityException e) {
      throw new TestbedException("cannot make a TLS identity: " + e.getMessage(), e);
    }
  }

  private static KeyStore load(Path store) throws IOException, GeneralSecurityException {
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, STORE_PASSWORD.toCharArray());
    }
    return keys;
  }

  private static void writePem(Path file, String type, byte[] der) throws IOException {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    Files.writeString(
        file, "-----BEGIN " + type + "-----\n" + body + "\n-----END " + type + "-----\n");
  }
}
