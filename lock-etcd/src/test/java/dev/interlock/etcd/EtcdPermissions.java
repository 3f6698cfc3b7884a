package dev.interlock.etcd;

import dev.interlock.tck.Permissions;
import dev.interlock.testbed.EtcdCluster;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The role of a user for whose sake an etcd asks for users. */
final class EtcdPermissions implements Permissions {

  private static final Pattern TOKEN = Pattern.compile("\"token\":\"([^\"]+)\"");

  /** All keys, as the gateway wants to be told. */
  private static final String EVERYTHING = "\"key\":\"AA==\",\"range_end\":\"AA==\"";

  private final HttpClient http = HttpClient.newHttpClient();
  private final EtcdCluster etcd;
  private String token = "";

  private EtcdPermissions(EtcdCluster etcd) {
    this.etcd = etcd;
  }

  /** From now on the servers ask everybody for a user. */
  static EtcdPermissions of(EtcdCluster etcd) throws IOException, InterruptedException {
    EtcdPermissions permissions = new EtcdPermissions(etcd);
    for (String user : new String[] {"root", "locker"}) {
      permissions.call("user/add", "{\"name\":\"" + user + "\",\"password\":\"secret\"}");
      permissions.call("role/add", "{\"name\":\"" + user + "\"}");
      permissions.call("user/grant", "{\"user\":\"" + user + "\",\"role\":\"" + user + "\"}");
    }
    permissions.giveBack();
    permissions.call("enable", "{}");
    Matcher found =
        TOKEN.matcher(
            permissions.call("authenticate", "{\"name\":\"root\",\"password\":\"secret\"}"));
    if (!found.find()) {
      throw new IOException("etcd gave no token");
    }
    permissions.token = found.group(1);
    return permissions;
  }

  @Override
  public String uri() {
    return etcd.uri().replace("://", "://locker:secret@");
  }

  @Override
  public void take() throws IOException, InterruptedException {
    call("role/revoke", "{\"role\":\"locker\"," + EVERYTHING + "}");
  }

  @Override
  public void giveBack() throws IOException, InterruptedException {
    call(
        "role/grant",
        "{\"name\":\"locker\",\"perm\":{\"permType\":\"READWRITE\"," + EVERYTHING + "}}");
  }

  private String call(String path, String json) throws IOException, InterruptedException {
    String address = "http://127.0.0.1:" + etcd.leader().port() + "/v3/auth/" + path;
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(address)).POST(HttpRequest.BodyPublishers.ofString(json));
    if (!token.isEmpty()) {
      request.header("Authorization", token);
    }
    HttpResponse<String> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new IOException(path + ": " + answer.body());
    }
    return answer.body();
  }
}
