package agent.endpoint;

import agent.endpoint.request.AddressingRequest;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.request.EndpointRequest.RequestedPort;
import agent.endpoint.state.DatapathConfiguration;
import java.util.List;

/** A builder of create and modify requests for tests. */
final class Requests {
  private String state = "waiting-for-identity";
  private AddressingRequest addressing;
  private String containerId;
  private String containerInterfaceName;
  private String containerName;
  private DatapathConfiguration datapathConfiguration;
  private String mac;
  private String hostMac;
  private Integer id;
  private Integer interfaceIndex;
  private String interfaceName;
  private String namespace;
  private String podName;
  private List<String> labels;
  private Boolean policyEnabled;
  private int pid = 4711;
  private List<RequestedPort> namedPorts;
  private Boolean sync;

  static Requests request() {
    return new Requests();
  }

  /** Returns a request for an endpoint on this interface, with {@code sync-build-endpoint}. */
  static Requests on(String interfaceName) {
    return new Requests().onInterface(interfaceName).mac("02:00:00:00:00:aa").sync();
  }

  Requests onInterface(String value) {
    interfaceName = value;
    return this;
  }

  Requests state(String value) {
    state = value;
    return this;
  }

  Requests ipv4(String value) {
    final String ipv6 = addressing == null ? null : addressing.ipv6();
    addressing = new AddressingRequest(value, null, null, ipv6, null, null);
    return this;
  }

  Requests ipv6(String value) {
    final String ipv4 = addressing == null ? null : addressing.ipv4();
    addressing = new AddressingRequest(ipv4, null, null, value, null, null);
    return this;
  }

  Requests addressing(AddressingRequest value) {
    addressing = value;
    return this;
  }

  Requests containerId(String value) {
    containerId = value;
    return this;
  }

  Requests containerInterface(String value) {
    containerInterfaceName = value;
    return this;
  }

  Requests containerName(String value) {
    containerName = value;
    return this;
  }

  Requests pod(String podNamespace, String name) {
    namespace = podNamespace;
    podName = name;
    return this;
  }

  Requests wired(DatapathConfiguration value) {
    datapathConfiguration = value;
    return this;
  }

  Requests mac(String value) {
    mac = value;
    return this;
  }

  Requests hostMac(String value) {
    hostMac = value;
    return this;
  }

  Requests id(int value) {
    id = value;
    return this;
  }

  Requests index(int value) {
    interfaceIndex = value;
    return this;
  }

  Requests labels(String... values) {
    labels = List.of(values);
    return this;
  }

  Requests namedPorts(RequestedPort... values) {
    namedPorts = List.of(values);
    return this;
  }

  Requests pid(int value) {
    pid = value;
    return this;
  }

  Requests policyEnabled(boolean value) {
    policyEnabled = value;
    return this;
  }

  Requests sync() {
    sync = true;
    return this;
  }

  Requests later() {
    sync = null;
    return this;
  }

  EndpointRequest build() {
    return new EndpointRequest(
        state,
        addressing,
        containerId,
        containerInterfaceName,
        containerName,
        datapathConfiguration,
        7,
        null,
        null,
        null,
        hostMac,
        mac,
        id,
        interfaceIndex,
        interfaceName,
        namespace,
        podName,
        null,
        labels,
        "4026532000",
        pid,
        policyEnabled,
        "{\"a\":1}",
        namedPorts,
        sync);
  }
}
