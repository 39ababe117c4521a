package agent.endpoint;

import static agent.endpoint.EndpointRig.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.endpoint.request.AddressingRequest;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.request.EndpointRequest.RequestedPort;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each field of a request is in its place in the endpoint: no two of one type are equal. */
class EndpointFieldsTest {
  private static final EndpointRequest CREATED =
      new EndpointRequest(
          "ready",
          new AddressingRequest("10.5.0.9", null, "default", "f00d::5:0:9", null, "default"),
          "container",
          "device",
          "name",
          new DatapathConfiguration(true, null, false, true, null, null),
          31,
          true,
          "runtime-endpoint",
          "runtime-network",
          "02:00:00:00:00:65",
          "02:00:00:00:00:aa",
          12,
          101,
          "lxc1",
          "namespace",
          "pod",
          "uid",
          List.of("k8s:app=web"),
          "cookie",
          32,
          null,
          "{\"a\":1}",
          List.of(new RequestedPort("http", 80, "UDP")),
          true);

  /** Every value that can change is another one than before. */
  private static final EndpointRequest MODIFIED =
      new EndpointRequest(
          "ready",
          null,
          "container2",
          "device2",
          "name2",
          new DatapathConfiguration(false, null, null, false, true, null),
          41,
          false,
          "runtime-endpoint2",
          "runtime-network2",
          null,
          "02:00:00:00:00:bb",
          12,
          null,
          null,
          "namespace2",
          "pod2",
          "uid2",
          null,
          "cookie2",
          42,
          null,
          "{\"a\":2}",
          List.of(new RequestedPort("dns", 53, "TCP")),
          true);

  private final FakeRig agent = new FakeRig();

  private static Map<String, Object> fields(EndpointSnapshot endpoint) {
    final Map<String, Object> fields = new TreeMap<>();
    final var external = endpoint.externalIdentifiers();
    fields.put("container", external.containerId());
    fields.put("device", external.containerInterfaceName());
    fields.put("name", external.containerName());
    fields.put("runtime-endpoint", external.runtimeEndpointId());
    fields.put("runtime-network", external.runtimeNetworkId());
    fields.put("namespace", external.namespace());
    fields.put("pod", external.podName());
    fields.put("uid", external.podUid());
    fields.put("no-legacy", external.legacyDisabled());
    final var datapath = endpoint.datapathConfiguration();
    fields.put("no-verification", datapath.disableSourceVerification());
    fields.put("is-routed", datapath.routed());
    fields.put("arp", datapath.requireArpPassthrough());
    fields.put("egress", String.valueOf(datapath.requireEgressProgram()));
    final var workload = endpoint.workload();
    fields.put("cookie", workload.netnsCookie());
    fields.put("pid", workload.pid());
    fields.put("map", workload.datapathMapId());
    fields.put("properties", workload.properties());
    final var networking = endpoint.networking();
    fields.put("host-mac", networking.hostMac().toString());
    fields.put("mac", networking.mac().toString());
    fields.put("index", networking.interfaceIndex());
    fields.put("interface", networking.interfaceName());
    fields.put("ipv4", networking.addressing().ipv4().toString());
    fields.put("ipv6", networking.addressing().ipv6().toString());
    final var port = endpoint.namedPorts().getFirst();
    fields.put("port", port.name() + " " + port.port() + " " + port.protocol());
    return fields;
  }

  private static Map<String, Object> created() {
    final Map<String, Object> expected = new TreeMap<>();
    for (final String each :
        List.of(
            "container",
            "device",
            "name",
            "runtime-endpoint",
            "runtime-network",
            "namespace",
            "pod",
            "uid",
            "cookie")) {
      expected.put(each, each);
    }
    expected.putAll(
        Map.of(
            "no-legacy",
            true,
            "no-verification",
            true,
            "is-routed",
            false,
            "arp",
            true,
            "egress",
            "null",
            "pid",
            32,
            "map",
            31,
            "properties",
            "{\"a\":1}"));
    expected.putAll(
        Map.of(
            "host-mac",
            "02:00:00:00:00:65",
            "mac",
            "02:00:00:00:00:aa",
            "index",
            101,
            "interface",
            "lxc1",
            "ipv4",
            "10.5.0.9",
            "ipv6",
            "f00d::5:0:9",
            "port",
            "http 80 UDP"));
    return expected;
  }

  private static Map<String, Object> modified() {
    final Map<String, Object> expected = created();
    expected.replaceAll((name, value) -> value.equals(name) ? name + "2" : value);
    expected.putAll(
        Map.of(
            "no-legacy",
            false,
            "no-verification",
            false,
            "arp",
            false,
            "egress",
            "true",
            "pid",
            42,
            "map",
            41,
            "properties",
            "{\"a\":2}",
            "mac",
            "02:00:00:00:00:bb",
            "port",
            "dns 53 TCP"));
    return expected;
  }

  /** Also after a restart, which reads what was stored. */
  @Test
  void shouldPutEachFieldOfARequestInItsPlace() {
    final EndpointIdentifier id = EndpointIdentifier.parse("12");
    agent.now(agent.conductor.endpoints().create(id, CREATED));
    assertEquals(created(), new TreeMap<>(fields(agent.get("12"))));
    agent.now(agent.conductor.endpoints().modify(id, MODIFIED));
    assertEquals(modified(), new TreeMap<>(fields(agent.get("12"))));
    agent.restart();
    assertEquals(modified(), new TreeMap<>(fields(agent.get("12"))));
  }

  /** A change of these options alone; without any, of nothing. */
  private static EndpointRequest wired(DatapathConfiguration options) {
    return new EndpointRequest(
        "ready", null, null, null, null, options, null, null, null, null, null, null, null, null,
        null, null, null, null, null, null, null, null, null, null, true);
  }

  private Map<String, Object> after(DatapathConfiguration options) {
    agent.now(agent.conductor.endpoints().modify(EndpointIdentifier.parse("12"), wired(options)));
    return fields(agent.get("12"));
  }

  @Test
  void shouldKeepWhatAChangeDoesNotName() {
    agent.now(agent.conductor.endpoints().create(EndpointIdentifier.parse("12"), CREATED));
    final Map<String, Object> expected = created();
    assertEquals(expected, after(null));
    assertEquals(expected, after(DatapathConfiguration.DEFAULT));
    expected.put("no-verification", false);
    assertEquals(expected, after(new DatapathConfiguration(false, null, null, null, null, null)));
    expected.put("egress", "true");
    assertEquals(expected, after(new DatapathConfiguration(null, null, null, null, true, null)));
    expected.put("arp", false);
    assertEquals(expected, after(new DatapathConfiguration(null, null, null, false, null, null)));
    expected.put("no-verification", true);
    assertEquals(expected, after(new DatapathConfiguration(true, null, null, null, null, null)));
  }

  @Test
  void shouldShowTheInterfaceInTheContainerAmongItsNetworking() {
    agent.now(agent.conductor.endpoints().create(EndpointIdentifier.parse("12"), CREATED));
    assertEquals("device", agent.get("12").networking().containerInterfaceName());
  }

  @ParameterizedTest
  @CsvSource({
    "container-id:other, container-id",
    "container-name:other, container-name",
    "cni-attachment-id:other:device, container-id",
    "cni-attachment-id:container:other, container-interface-name",
    "runtime-endpoint:other, runtime-endpoint-id",
    "pod-name:other:pod, k8s-namespace",
    "cep-name:namespace:other, k8s-pod-name",
  })
  void shouldRefuseAnIdentifierThatIsNotThatOfThePath(String path, String field) {
    final EndpointIdentifier id = EndpointIdentifier.parse(path);
    assertRefused(
        Refusal.Kind.INVALID,
        field,
        () -> agent.now(agent.conductor.endpoints().create(id, CREATED)));
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
  }
}
