package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One member of etcd. */
final class EtcdStore extends PeerStore {
  private static final Pattern KEY = Pattern.compile("\"key\":\"([^\"]+)\"");

  private final EtcdCluster etcd;

  private EtcdStore(EtcdCluster etcd) {
    super(etcd.members());
    this.etcd = etcd;
  }

  static EtcdStore start() {
    return new EtcdStore(Testbed.etcd().forFaults().withoutSync().start());
  }

  @Override
  public String uri() {
    return etcd.uri();
  }

  /** Deletes the holder's key, which is the oldest of those below the name. */
  @Override
  public boolean delete(String name) throws IOException {
    Matcher first =
        KEY.matcher(
            etcd.leader()
                .call(
                    "/v3/kv/range",
                    "{\"key\":\""
                        + base64(name + "/")
                        + "\",\"range_end\":\""
                        + base64(name + "0")
                        + "\",\"limit\":1,\"sort_order\":\"ASCEND\",\"sort_target\":\"CREATE\"}"));
    if (!first.find()) {
      return false;
    }
    String unused =
        etcd.leader().call("/v3/kv/deleterange", "{\"key\":\"" + first.group(1) + "\"}");
    return true;
  }

  @Override
  public List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    Matcher keys =
        KEY.matcher(
            etcd.leader()
                .call(
                    "/v3/kv/range",
                    "{\"key\":\"AA==\",\"range_end\":\"AA==\",\"keys_only\":true}"));
    while (keys.find()) {
      String key = new String(Base64.getDecoder().decode(keys.group(1)), UTF_8);
      entries.add(new Entry(Kind.HOLDER, "key " + key, true));
    }
    return entries;
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(UTF_8));
  }

  @Override
  public void close() {
    etcd.close();
  }
}
