package agent.endpoint.request;

import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointLookup;
import agent.endpoint.state.ExternalIdentifiers;
import agent.types.PlainText;
import agent.types.Refusal;

/**
 * Reads the identifiers of an endpoint from the path and the body of a request, which must agree.
 */
public final class RequestIdentifiers {
  private static final int MAX_LENGTH = 1024;

  private final EndpointLookup lookup;

  RequestIdentifiers(EndpointLookup lookup) {
    this.lookup = lookup;
  }

  /** Returns the requested local id; 0 lets the agent allocate one. */
  int localId(EndpointIdentifier path, EndpointRequest body) {
    final int inBody = body.id() == null ? 0 : body.id();
    if (inBody < 0 || inBody > EndpointIdentifier.MAX_LOCAL_ID) {
      throw Refusal.invalid(
          "id", inBody + " is not between 0 and " + EndpointIdentifier.MAX_LOCAL_ID);
    }
    if (!lookup.isHere(path)) {
      throw Refusal.invalid("id", path + " belongs to another cluster or node");
    }
    final boolean namesId =
        path.kind() == EndpointIdentifier.Kind.AGENT_LOCAL
            || path.kind() == EndpointIdentifier.Kind.AGENT_GLOBAL;
    if (namesId && body.id() != null && inBody != 0 && inBody != path.localId()) {
      throw Refusal.invalid(
          "id", inBody + " in the body does not match " + path.localId() + " in the path");
    }
    return namesId ? path.localId() : inBody;
  }

  /** Returns the external identifiers of a new endpoint. */
  ExternalIdentifiers created(EndpointIdentifier path, EndpointRequest body) {
    return new ExternalIdentifiers(
        agreed(path, "container-id", body.containerId(), containerIdOf(path)),
        agreed(path, "container-name", body.containerName(), containerNameOf(path)),
        agreed(path, "container-interface-name", body.containerInterfaceName(), interfaceOf(path)),
        agreed(path, "runtime-endpoint-id", body.runtimeEndpointId(), runtimeEndpointOf(path)),
        text("runtime-network-id", body.runtimeNetworkId()),
        agreed(path, "k8s-namespace", body.namespace(), podPartOf(path, 0)),
        agreed(path, "k8s-pod-name", body.podName(), podPartOf(path, 1)),
        text("k8s-uid", body.podUid()),
        Boolean.TRUE.equals(body.disableLegacyIdentifiers()));
  }

  /** Returns the external identifiers after a change; absent fields keep their values. */
  ExternalIdentifiers modified(ExternalIdentifiers before, EndpointRequest body) {
    return new ExternalIdentifiers(
        or(text("container-id", body.containerId()), before.containerId()),
        or(text("container-name", body.containerName()), before.containerName()),
        or(
            text("container-interface-name", body.containerInterfaceName()),
            before.containerInterfaceName()),
        or(text("runtime-endpoint-id", body.runtimeEndpointId()), before.runtimeEndpointId()),
        or(text("runtime-network-id", body.runtimeNetworkId()), before.runtimeNetworkId()),
        or(text("k8s-namespace", body.namespace()), before.namespace()),
        or(text("k8s-pod-name", body.podName()), before.podName()),
        or(text("k8s-uid", body.podUid()), before.podUid()),
        or(body.disableLegacyIdentifiers(), before.legacyDisabled()));
  }

  private static <T> T or(T asked, T before) {
    return asked == null ? before : asked;
  }

  private static String agreed(
      EndpointIdentifier path, String field, String inBody, String inPath) {
    final String value = text(field, inBody);
    if (value != null && inPath != null && !value.equals(inPath)) {
      throw Refusal.invalid(
          field, "'" + value + "' in the body does not match '" + path + "' in the path");
    }
    return value == null ? inPath : value;
  }

  /** Returns null for an absent or empty value; refuses control and bidirectional characters. */
  private static String text(String field, String value) {
    if (value == null || value.isEmpty()) {
      return null;
    }
    if (value.length() > MAX_LENGTH) {
      throw Refusal.invalid(field, "longer than " + MAX_LENGTH + " characters");
    }
    return PlainText.checked(field, value);
  }

  private static String containerIdOf(EndpointIdentifier path) {
    return switch (path.kind()) {
      case CONTAINER_ID -> path.value();
      case CNI_ATTACHMENT_ID -> path.part(0);
      default -> null;
    };
  }

  private static String interfaceOf(EndpointIdentifier path) {
    return path.kind() == EndpointIdentifier.Kind.CNI_ATTACHMENT_ID ? path.part(1) : null;
  }

  private static String containerNameOf(EndpointIdentifier path) {
    return path.kind() == EndpointIdentifier.Kind.CONTAINER_NAME ? path.value() : null;
  }

  private static String runtimeEndpointOf(EndpointIdentifier path) {
    return path.kind() == EndpointIdentifier.Kind.RUNTIME_ENDPOINT ? path.value() : null;
  }

  private static String podPartOf(EndpointIdentifier path, int part) {
    return switch (path.kind()) {
      case POD_NAME, CEP_NAME -> path.part(part);
      default -> null;
    };
  }
}
