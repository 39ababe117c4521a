package agent.endpoint;

import agent.identity.Identity;
import agent.ipam.Lease;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Takes new endpoints in: checked, with id, addresses and identity, and stored. */
final class EndpointCreation {
  private static final Logger LOGGER = LogManager.getLogger(EndpointCreation.class);

  private final EndpointContext context;
  private final EndpointRegistry registry;
  private final RequestReader reader;
  private final IpcacheWriter ipcache;
  private final AddressClaims claims;

  EndpointCreation(
      EndpointContext context,
      EndpointRegistry registry,
      RequestReader reader,
      IpcacheWriter ipcache) {
    this.context = context;
    this.registry = registry;
    this.reader = reader;
    this.ipcache = ipcache;
    this.claims = new AddressClaims(context.ipam());
  }

  /**
   * Takes an endpoint in; it waits for its build then.
   *
   * @throws Refusal INVALID, CONFLICT, EXHAUSTED, FAILED; then nothing has changed
   */
  Endpoint create(EndpointIdentifier path, EndpointRequest request) {
    final int asked = reader.localId(path, request);
    final EndpointRecord draft = reader.created(path, request);
    final LabelDerivation labels = LabelDerivation.of(draft, context.labelFilter());
    checkFree(path, asked, draft);
    final int id = asked == 0 ? registry.freeId() : asked;
    final List<Lease> adopted = claims.adoptable(draft.addressing());
    final EndpointAddressing addressing = addressing(id, draft);
    Identity identity = null;
    try {
      identity = context.identities().acquire(labels.identity());
      final EndpointRecord record = numbered(draft, id, identity).withAddressing(addressing);
      context.store().save(record);
      return admit(record, labels, identity);
    } catch (RuntimeException failure) {
      if (identity != null) {
        context.identities().release(identity.id());
      }
      claims.giveBack(id, adopted);
      throw failure;
    }
  }

  private Endpoint admit(EndpointRecord record, LabelDerivation labels, Identity identity) {
    final Endpoint endpoint =
        new Endpoint(
            record,
            labels,
            new RegenerationController(record.id(), context.retryBase(), context.retryMax()));
    endpoint.transition(EndpointState.WAITING_FOR_IDENTITY, "created", context.clock().instant());
    endpoint.identify(identity);
    endpoint.transition(
        EndpointState.WAITING_TO_REGENERATE,
        "identity " + identity.id() + " " + identity.labels(),
        context.clock().instant());
    registry.add(endpoint);
    LOGGER.info(
        "endpoint {}: created on {} with identity {}",
        record.id(),
        record.interfaceName(),
        identity.id());
    return endpoint;
  }

  private EndpointAddressing addressing(int id, EndpointRecord draft) {
    if (!draft.datapathConfiguration().addressesAreExternal()) {
      return claims.claim(id, draft.addressing());
    }
    if (draft.addressing().ipv4() == null && draft.addressing().ipv6() == null) {
      throw Refusal.invalid("addressing", "with external-ipam an address is needed");
    }
    return draft.addressing();
  }

  private void checkFree(EndpointIdentifier path, int asked, EndpointRecord draft) {
    if (asked != 0 && registry.find(asked) != null) {
      throw Refusal.conflict("id", "endpoint " + asked + " exists");
    }
    if (path.localId() == 0 && path.kind() != EndpointIdentifier.Kind.AGENT_LOCAL) {
      registry
          .find(path)
          .ifPresent(
              other -> {
                throw Refusal.conflict("id", path + " is endpoint " + other.id());
              });
    }
    for (final Endpoint other : registry.all()) {
      checkInterface(draft, other);
      checkAddress("addressing.ipv4", draft.addressing().ipv4(), other);
      checkAddress("addressing.ipv6", draft.addressing().ipv6(), other);
    }
    checkAddress("addressing.ipv4", draft.addressing().ipv4());
    checkAddress("addressing.ipv6", draft.addressing().ipv6());
  }

  /** Two endpoints on one interface would replace each other's programs. */
  static void checkInterface(EndpointRecord draft, Endpoint other) {
    final EndpointRecord record = other.record();
    if (record.id() != draft.id()
        && (record.interfaceIndex() == draft.interfaceIndex()
            || record.interfaceName().equals(draft.interfaceName()))) {
      throw Refusal.conflict(
          "interface-name", "'" + draft.interfaceName() + "' is in use by endpoint " + record.id());
    }
  }

  private static void checkAddress(String field, IpAddress address, Endpoint other) {
    final EndpointAddressing used = other.record().addressing();
    if (address != null && (address.equals(used.ipv4()) || address.equals(used.ipv6()))) {
      throw Refusal.conflict(field, address + " is in use by endpoint " + other.id());
    }
  }

  private void checkAddress(String field, IpAddress address) {
    if (address != null && ipcache.isHost(address)) {
      throw Refusal.conflict(field, address + " is in use by the node");
    }
  }

  private static EndpointRecord numbered(EndpointRecord draft, int id, Identity identity) {
    return new EndpointRecord(
        id,
        identity.id(),
        draft.addressing(),
        draft.externalIdentifiers(),
        draft.interfaceName(),
        draft.interfaceIndex(),
        draft.mac(),
        draft.hostMac(),
        draft.labels(),
        draft.userLabels(),
        draft.options(),
        draft.datapathConfiguration(),
        draft.workload());
  }
}
