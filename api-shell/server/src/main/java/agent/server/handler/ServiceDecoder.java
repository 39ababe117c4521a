package agent.server.handler;

import agent.contract.service.ServiceSpecModel;
import agent.contract.service.ServiceSpecModel.BackendAddress;
import agent.contract.service.ServiceSpecModel.Flags;
import agent.contract.service.ServiceSpecModel.FrontendAddress;
import agent.service.Backend;
import agent.service.ForwardingMode;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.service.ServiceType;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.PlainText;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Decodes the body of {@code PUT /service/{id}}. What it accepts takes effect. */
final class ServiceDecoder {
  static final String FRONTEND = "frontend-address";
  static final String BACKENDS = "backend-addresses";
  static final String CLIENT_IP = "ClientIP";
  static final String NONE = "None";
  static final String CLUSTER = "Cluster";
  static final String LOCAL = "Local";
  static final String EXTERNAL = "external";

  private static final int MOST_PORT = 65_535;
  private static final int MOST_WEIGHT = 65_535;
  private static final int LONGEST_NAME = 253;
  private static final int AFFINITY_SEC = 10_800; // as the orchestrator's services have it
  private static final int MOST_AFFINITY_SEC = 86_400;
  private static final Flags NO_FLAGS = new Flags(null, null, null, null, null, null, null, null);

  private ServiceDecoder() {}

  static Service decode(int id, ServiceSpecModel model) {
    if (model.id() != null && model.id() != id) {
      throw Refusal.invalid("id", model.id() + " does not match id " + id + " of the path");
    }
    final Frontend frontend = frontend(model.frontendAddress());
    final Flags flags = model.flags() == null ? NO_FLAGS : model.flags();
    final ServiceType type = type(flags, frontend);
    oneOf("flags.extTrafficPolicy", flags.extTrafficPolicy(), CLUSTER, LOCAL);
    oneOf("flags.intTrafficPolicy", flags.intTrafficPolicy(), CLUSTER, LOCAL);
    final boolean isLocalOutside = LOCAL.equals(flags.extTrafficPolicy());
    if (isLocalOutside && !type.isOutside()) {
      throw Refusal.invalid("flags.extTrafficPolicy", "has no effect with type " + type.text());
    }
    return new Service(
        id,
        frontend,
        backends(frontend, model.backendAddresses()),
        type,
        LOCAL.equals(flags.intTrafficPolicy()),
        isLocalOutside,
        forwarding(flags, type),
        affinity(flags),
        name("flags.name", flags.name()),
        name("flags.namespace", flags.namespace()),
        EntrySource.API);
  }

  private static ForwardingMode forwarding(Flags flags, ServiceType type) {
    final String field = "flags.forwardingMode";
    if (flags.forwardingMode() == null) {
      return null;
    }
    final ForwardingMode mode = ForwardingMode.parse(field, flags.forwardingMode());
    if (!type.isOutside()) {
      throw Refusal.invalid(field, "has no effect with type " + type.text());
    }
    return mode;
  }

  private static ServiceType type(Flags flags, Frontend frontend) {
    final ServiceType type =
        flags.type() == null
            ? ServiceType.CLUSTER_IP
            : ServiceType.parse("flags.type", flags.type());
    if (frontend.address().isUnspecified() && !type.isOfNode()) {
      throw Refusal.invalid(
          FRONTEND + ".ip", frontend.address() + " is not a valid address for type " + type.text());
    }
    return type;
  }

  private static Frontend frontend(FrontendAddress model) {
    if (model == null) {
      throw Refusal.invalid(FRONTEND, "is missing");
    }
    try {
      oneOf("scope", model.scope(), EXTERNAL);
      return new Frontend(
          address(model.ip()), port(model.port()), protocol(model.protocol(), ServiceProtocol.ANY));
    } catch (Refusal refusal) {
      throw in(FRONTEND, refusal);
    }
  }

  /** The path of a field is put together for a refusal alone: a service has many backends. */
  private static Refusal in(String part, Refusal refusal) {
    return refusal.at(part + "." + refusal.field());
  }

  private static List<Backend> backends(Frontend frontend, List<BackendAddress> models) {
    final List<Backend> backends = new ArrayList<>();
    if (models == null) {
      return backends;
    }
    final Set<Target> targets = new HashSet<>();
    for (int i = 0; i < models.size(); i++) {
      final Backend backend;
      try {
        backend = backend(frontend, models.get(i));
      } catch (Refusal refusal) {
        throw in(element(i), refusal);
      }
      final Target target = new Target(backend.address(), backend.port());
      if (!targets.add(target)) {
        throw Refusal.invalid(element(i), "duplicate backend " + target);
      }
      backends.add(backend);
    }
    return backends;
  }

  private record Target(IpAddress address, int port) {
    @Override
    public String toString() {
      return (address.isIpv4() ? address.toString() : "[" + address + "]") + ":" + port;
    }
  }

  private static String element(int index) {
    return BACKENDS + "[" + index + "]";
  }

  private static Backend backend(Frontend frontend, BackendAddress model) {
    final IpAddress address = address(model.ip());
    if (address.isIpv4() != frontend.address().isIpv4()) {
      throw Refusal.invalid(
          "ip", address + " and frontend " + frontend.address() + " differ in address family");
    }
    if (protocol(model.protocol(), frontend.protocol()) != frontend.protocol()) {
      throw Refusal.invalid(
          "protocol",
          model.protocol() + " differs from " + frontend.protocol() + " of the frontend");
    }
    final int port = port(model.port());
    if (frontend.protocol() == ServiceProtocol.SCTP && port != frontend.port()) {
      throw Refusal.invalid(
          "port",
          port
              + " differs from frontend port "
              + frontend.port()
              + ": SCTP ports are not translated");
    }
    final int weight = model.weight() == null ? 1 : model.weight();
    range("weight", weight, 0, MOST_WEIGHT);
    return new Backend(
        address,
        port,
        model.state() == null ? Backend.State.ACTIVE : Backend.State.parse("state", model.state()),
        weight,
        name("nodeName", model.nodeName()));
  }

  private static int affinity(Flags flags) {
    oneOf("flags.sessionAffinity", flags.sessionAffinity(), NONE, CLIENT_IP);
    final String field = "flags.affinityTimeoutSeconds";
    final boolean hasAffinity = CLIENT_IP.equals(flags.sessionAffinity());
    if (flags.affinityTimeoutSeconds() == null) {
      return hasAffinity ? AFFINITY_SEC : 0;
    }
    range(field, flags.affinityTimeoutSeconds(), 1, MOST_AFFINITY_SEC);
    if (!hasAffinity) {
      throw Refusal.invalid(field, "has no effect without sessionAffinity " + CLIENT_IP);
    }
    return flags.affinityTimeoutSeconds();
  }

  private static IpAddress address(String text) {
    if (text == null) {
      throw Refusal.invalid("ip", "is missing");
    }
    return IpAddress.parse("ip", text);
  }

  private static int port(Integer port) {
    if (port == null) {
      throw Refusal.invalid("port", "is missing");
    }
    range("port", port, 1, MOST_PORT);
    return port;
  }

  private static ServiceProtocol protocol(String name, ServiceProtocol otherwise) {
    return name == null ? otherwise : ServiceProtocol.parse("protocol", name);
  }

  private static String name(String field, String name) {
    if (name != null && (name.isEmpty() || name.length() > LONGEST_NAME)) {
      throw Refusal.invalid(field, "must have 1 to " + LONGEST_NAME + " characters");
    }
    return PlainText.checked(field, name);
  }

  private static void range(String field, int value, int least, int most) {
    if (value < least || value > most) {
      throw Refusal.invalid(field, value + " is not between " + least + " and " + most);
    }
  }

  /** Accepts what is absent or one of the values that this release serves. */
  private static void oneOf(String field, String value, String... served) {
    if (value != null && !List.of(served).contains(value)) {
      throw Refusal.invalid(
          field, "'" + value + "' is not supported; use " + String.join(" or ", served));
    }
  }
}
