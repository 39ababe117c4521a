package agent.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code agentctl service} against answers of an agent. */
@Timeout(60)
class ServiceCommandsTest {
  private static final String SERVICE =
      """
      {"spec": {"id": 7,
        "frontend-address": {"ip": "10.96.0.1", "port": 80, "protocol": "TCP"},
        "backend-addresses": [
          {"ip": "10.1.0.7", "port": 8080, "state": "active", "weight": 1, "nodeName": "n1"},
          {"ip": "10.1.0.9", "port": 8080, "state": "terminating", "weight": 3}],
        "flags": {"type": "ClusterIP", "name": "web", "namespace": "default",
          "intTrafficPolicy": "Cluster", "sessionAffinity": "None"}}}
      """;

  private static final String OTHER =
      """
      {"spec": {"id": 8,
        "frontend-address": {"ip": "fd96::1", "port": 53, "protocol": "ANY"},
        "backend-addresses": [],
        "flags": {"type": "ClusterIP", "name": "dns", "intTrafficPolicy": "Local",
          "sessionAffinity": "ClientIP", "affinityTimeoutSeconds": 600}}}
      """;

  private CliFixture agent;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
    agent.on("GET /service", "[" + SERVICE + "," + OTHER + "]");
    agent.on("GET /service/7", SERVICE);
    agent.on("GET /service/8", OTHER);
    agent.on("PUT /service/7", SERVICE);
    agent.on("DELETE /service/7", "");
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private String output(String line) {
    return agent.output(AgentCtl.OK, line);
  }

  private void assertBody(String json) {
    final String request = agent.requests().getLast();
    assertEquals(json, request.substring(request.indexOf("\r\n\r\n") + 4));
  }

  @Test
  void shouldListServices() {
    assertEquals(
        """
        ID  NAME         FRONTEND       PROTOCOL  TYPE       ACTIVE  BACKENDS
        7   default/web  10.96.0.1:80   TCP       ClusterIP  1       2
        8   dns          [fd96::1]:53   ANY       ClusterIP  0       0
        """
            .replace("FRONTEND       ", "FRONTEND      ")
            .replace("80   TCP", "80  TCP")
            .replace("53   ANY", "53  ANY"),
        output("service list"));
  }

  @Test
  void shouldShowAServiceWithItsBackends() {
    assertEquals(
        """
        ID:        7
        Name:      default/web
        Frontend:  10.96.0.1:80 TCP
        Type:      ClusterIP
        Affinity:  none
        Served by: all backends
        BACKEND        STATE        WEIGHT  NODE
        10.1.0.7:8080  active       1       n1
        10.1.0.9:8080  terminating  3       -
        """,
        output("service get 7"));
    assertEquals(
        """
        ID:        8
        Name:      dns
        Frontend:  [fd96::1]:53 ANY
        Type:      ClusterIP
        Affinity:  600 s
        Served by: the backends on this node
        """,
        output("service get 8").replaceAll("(?m)^BACKEND.*\n", ""));
    assertEquals("10.96.0.1\n", output("service get 7 -o jsonpath=.spec.frontend-address.ip"));
  }

  @Test
  void shouldPutAServiceFromOptions() {
    assertEquals(
        "service 7: 10.96.0.1:80, backends: 2\n",
        output(
            "service update 7 --frontend 10.96.0.1:80 --protocol TCP --backend 10.1.0.7:8080"
                + " --backend 10.1.0.9:8080/weight=3/state=terminating --affinity 600 --local"
                + " --name web --namespace default"));
    assertBody(
        "{\"frontend-address\":{\"ip\":\"10.96.0.1\",\"port\":80,\"protocol\":\"TCP\"},"
            + "\"backend-addresses\":[{\"ip\":\"10.1.0.7\",\"port\":8080},"
            + "{\"ip\":\"10.1.0.9\",\"port\":8080,\"weight\":3,\"state\":\"terminating\"}],"
            + "\"flags\":{\"sessionAffinity\":\"ClientIP\",\"affinityTimeoutSeconds\":600,"
            + "\"intTrafficPolicy\":\"Local\",\"name\":\"web\",\"namespace\":\"default\"}}");
    output("service update 7 --frontend [fd96::1]:53 --forwarding-mode dsr");
    assertBody(
        "{\"frontend-address\":{\"ip\":\"fd96::1\",\"port\":53},"
            + "\"flags\":{\"forwardingMode\":\"dsr\"}}");
    output("service update 7 --frontend [fd96::1]:53");
    assertBody("{\"frontend-address\":{\"ip\":\"fd96::1\",\"port\":53}}");
  }

  @Test
  void shouldPutAServiceFromAFile(@TempDir Path directory) throws IOException {
    final Path file =
        Files.writeString(
            directory.resolve("service.json"),
            "{\"id\":7,\"frontend-address\":{\"ip\":\"10.96.0.1\",\"port\":80},"
                + "\"flags\":{\"name\":\"web\"}}");
    final String answer =
        output("service update 7 -f " + file + " --protocol UDP --namespace system -o json");
    assertTrue(answer.contains("\"name\": \"web\""), answer);
    assertBody(
        "{\"id\":7,\"frontend-address\":{\"ip\":\"10.96.0.1\",\"port\":80,\"protocol\":\"UDP\"},"
            + "\"flags\":{\"name\":\"web\",\"namespace\":\"system\"}}");
    Files.writeString(file, "[]");
    agent.output(AgentCtl.USAGE_ERROR, "service update 7 -f " + file);
    assertTrue(agent.err().startsWith("'" + file + "' is not a JSON object"), agent.err());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--protocol TCP --name x | --frontend or --file is required",
        "--frontend 10.96.0.1 | --frontend: '10.96.0.1' is not ADDRESS:PORT",
        "--frontend fd96::1:80 | --frontend: 'fd96::1:80': write [ADDRESS]:PORT",
        "--frontend 10.96.0.1:x | '10.96.0.1:x': 'x' is not a whole number",
        "--frontend 10.96.0.1:80 --backend 10.1.0.7:80/size=3 "
            + "| --backend: '10.1.0.7:80/size=3': 'size' is unknown",
        "--frontend 10.96.0.1:80 --backend 10.1.0.7:80/weight "
            + "| '10.1.0.7:80/weight': '' is not a whole number"
      })
  void shouldNameWhatIsWrongWithTheLine(String options, String message) {
    agent.output(AgentCtl.USAGE_ERROR, "service update 7 " + options);
    assertTrue(agent.err().startsWith(message), agent.err());
  }

  @Test
  void shouldDeleteAService() {
    assertEquals("service 7 deleted\n", output("service delete 7"));
    assertTrue(agent.requests().getLast().startsWith("DELETE /service/7 "));
  }
}
