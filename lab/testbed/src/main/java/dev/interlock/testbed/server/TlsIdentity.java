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
 * A key and a self-signed certificate, which peers must trust. The JDK's keytool makes them.
 *
 * @param directory the directory of the files, which are deleted with it
 */
public record TlsIdentity(Path directory) {
  private static final String ALIAS = "server";

  private static final String THIS_MACHINE = "ip:127.0.0.1,dns:localhost";

  /** Protects nothing, since the unencrypted key lies beside the store. */
  private static final String STORE_PASSWORD = "disposable";

  /**
   * Creates an identity for one test.
   *
   * @param parent a directory that the test deletes; the files go into a new directory in it
   * @param subject the names, in keytool's form: {@code ip:127.0.0.1,dns:localhost}
   * @throws TestbedException if it cannot be created
   */
  public static TlsIdentity forSubject(Path parent, String subject) {
    try {
      Path directory = Files.createTempDirectory(parent, "tls-");
      make(directory, subject);
      return new TlsIdentity(directory);
    } catch (IOException e) {
      throw new TestbedException("cannot create a directory for a TLS identity", e);
    }
  }

  /** {@return the identity that the servers of a workspace share; the first call creates it} */
  public static TlsIdentity of(Workspace workspace) {
    return new TlsIdentity(
        workspace.sharedDirectory("tls", directory -> make(directory, THIS_MACHINE)));
  }

  /** {@return the certificate, in PEM form} */
  public Path certificate() {
    return directory.resolve("server.pem");
  }

  /** {@return the private key, in PEM form, not encrypted} */
  public Path key() {
    return directory.resolve("server.key");
  }

  /** {@return the trust in this certificate; clients also present it to servers that ask} */
  public TlsTrust trust() {
    try {
      KeyManagerFactory presented =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      presented.init(load(store(directory)), STORE_PASSWORD.toCharArray());
      return TlsTrust.in(certificate(), presented.getKeyManagers());
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
      throw new TestbedException("cannot create a TLS identity: " + e.getMessage(), e);
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
