package agent.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.types.Refusal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ServiceTypeTest {
  @ParameterizedTest
  @CsvSource({
    "ClusterIP, CLUSTER_IP, false, false",
    "NodePort, NODE_PORT, true, true",
    "ExternalIPs, EXTERNAL_IPS, true, false",
    "HostPort, HOST_PORT, true, true",
    "LoadBalancer, LOAD_BALANCER, true, false"
  })
  void shouldKnowWhereEachTypeIsOffered(
      String text, ServiceType type, boolean isOutside, boolean isOfNode) {
    assertEquals(type, ServiceType.parse("f", text));
    assertEquals(text, type.text());
    assertEquals(isOutside, type.isOutside());
    assertEquals(isOfNode, type.isOfNode());
  }

  @Test
  void shouldRefuseAnyOtherName() {
    assertEquals(
        "f: 'nodeport' is not ClusterIP, NodePort, ExternalIPs, HostPort or LoadBalancer",
        assertThrows(Refusal.class, () -> ServiceType.parse("f", "nodeport")).getMessage());
  }
}
