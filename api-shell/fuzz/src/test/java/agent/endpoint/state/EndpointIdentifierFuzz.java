package agent.endpoint.state;

import agent.fuzz.FuzzInputs;
import agent.types.Refusal;
import java.util.List;

/** Endpoint id strings. */
public final class EndpointIdentifierFuzz {
  /** Inputs to start from. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "7",
          "agent-local:65535",
          "agent-global:c:n:7",
          "cni-attachment-id:c0ffee:eth0",
          "pod-name:ns:web-0",
          "container-id:",
          "65536",
          "no-prefix:7",
          ":7",
          "cep-name:a:b:c");

  private EndpointIdentifierFuzz() {}

  /** Reads one text. */
  public static void fuzzerTestOneInput(byte[] input) {
    final EndpointIdentifier identifier;
    try {
      identifier = EndpointIdentifier.parse(FuzzInputs.text(input));
    } catch (Refusal refused) {
      return;
    }
    final int id = identifier.localId();
    if (id < 0 || id > EndpointIdentifier.MAX_LOCAL_ID) {
      throw new AssertionError(identifier + " has the local id " + id);
    }
    FuzzInputs.assertSame(
        identifier, EndpointIdentifier.parse(identifier.toString()), identifier.toString());
  }
}
