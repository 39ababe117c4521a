package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointIdentifier.Kind;
import agent.types.Refusal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EndpointIdentifierTest {
  @ParameterizedTest
  @CsvSource({
    "12, AGENT_LOCAL, 12",
    "0, AGENT_LOCAL, 0",
    "agent-local:65535, AGENT_LOCAL, 65535",
    "agent-global:c1:n1:12, AGENT_GLOBAL, 12",
    "cni-attachment-id:abc:eth0, CNI_ATTACHMENT_ID, 0",
    "container-id:abc, CONTAINER_ID, 0",
    "container-id:docker://abc, CONTAINER_ID, 0",
    "container-name:web, CONTAINER_NAME, 0",
    "pod-name:default:web-1, POD_NAME, 0",
    "cep-name:default:web-1, CEP_NAME, 0",
    "runtime-endpoint:4fe, RUNTIME_ENDPOINT, 0"
  })
  void shouldReadEveryPrefixOfTheContract(String text, Kind kind, int localId) {
    final EndpointIdentifier identifier = EndpointIdentifier.parse(text);
    assertEquals(kind, identifier.kind());
    assertEquals(localId, identifier.localId());
  }

  @Test
  void shouldPartAPodNameIntoNamespaceAndName() {
    final EndpointIdentifier identifier = EndpointIdentifier.parse("pod-name:default:web-1");
    assertEquals("default", identifier.part(0));
    assertEquals("web-1", identifier.part(1));
    assertEquals("pod-name:default:web-1", identifier.toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ":",
        "x",
        "-1",
        "1.5",
        "65536",
        "123456",
        "12a",
        "agent-local:",
        "agent-local:x",
        "agent-local:1:2",
        "agent-global:c1:12",
        "agent-global::n1:12",
        "pod-name:web",
        "pod-name:a:b:c",
        "cni-attachment-id:abc",
        "container-id:",
        "uuid:12",
        "container-id:a\0b",
        "../etc/passwd"
      })
  void shouldRefuseWhatIsNoIdentifier(String text) {
    FakeRig.assertRefused(Refusal.Kind.INVALID, "id", () -> EndpointIdentifier.parse(text));
  }
}
