package agent.endpoint.request;

import agent.endpoint.build.IdentityArrival;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.EndpointStore;
import agent.endpoint.state.LabelDerivation;
import agent.identity.Identity;
import agent.identity.LabelFilter;
import agent.ipam.Ipam;
import agent.ipam.Lease;
import agent.ipcache.Ipcache;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Admits new endpoints: checks the request, allocates id and addresses, and stores the record. Runs
 * on the conductor's thread.
 */
public final class EndpointCreation {
  private static final Logger LOGGER = LogManager.getLogger(EndpointCreation.class);

  private final EndpointRegistry registry;
  private final EndpointJournal journal;
  private final EndpointStore store;
  private final RequestReader reader;
  private final LabelFilter labelFilter;
  private final Ipcache ipcache;
  private final IdentityArrival arrival;
  private final AddressClaims claims;
  private Consumer<Endpoint> onLeftOver = endpoint -> {};
  private IntFunction<Optional<String>> obstacle = count -> Optional.empty();

  /** Creates the admission of endpoints. */
  public EndpointCreation(
      Collaborators collaborators, RequestReader reader, LabelFilter labelFilter, Ipam ipam) {
    registry = collaborators.registry();
    journal = collaborators.journal();
    store = collaborators.store();
    arrival = collaborators.arrival();
    ipcache = collaborators.ipcache();
    this.reader = reader;
    this.labelFilter = labelFilter;
    claims = new AddressClaims(ipam);
  }

  /**
   * The objects that a new endpoint is registered with.
   *
   * @param registry the live endpoints
   * @param journal records their transitions
   * @param store keeps their records
   * @param ipcache holds the addresses of the node, which an endpoint must not use
   * @param arrival acquires their identities
   */
  public record Collaborators(
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointStore store,
      Ipcache ipcache,
      IdentityArrival arrival) {}

  /**
   * Sets the function that removes a refused endpoint whose addresses could not be released, until
   * that has succeeded.
   */
  public void onLeftOver(Consumer<Endpoint> remove) {
    onLeftOver = remove;
  }

  /** Sets what returns why there may not be so many endpoints; empty where there may. */
  public void limit(IntFunction<Optional<String>> value) {
    obstacle = value;
  }

  /**
   * Admits an endpoint. It then waits for its identity or for its build.
   *
   * @throws Refusal INVALID, CONFLICT or EXHAUSTED, or UNAVAILABLE where the process may not have
   *     another endpoint; then no state has changed
   */
  public Endpoint admit(EndpointIdentifier path, EndpointRequest request) {
    final int asked = reader.localId(path, request);
    final EndpointRecord draft = reader.created(path, request);
    final LabelDerivation labels = LabelDerivation.of(draft, labelFilter);
    checkFree(path, asked, draft);
    obstacle
        .apply(registry.count() + 1)
        .ifPresent(
            reason -> {
              throw Refusal.unavailable("id", reason);
            });
    final int id = asked == 0 ? registry.freeId() : asked;
    final List<Lease> adopted = claims.adoptable(draft.addressing());
    CompletableFuture<Identity> identity = null;
    EndpointRecord record = draft.withId(id);
    boolean isStored = false;
    try {
      record = record.withAddressing(addressing(id, draft));
      identity = arrival.ask(labels.identity());
      record = record.withIdentity(IdentityArrival.numberOf(identity));
      store.save(record);
      isStored = true;
      if (!record.configuration().datapath().addressesAreExternal()) {
        claims.claim(id, record.addressing());
      }
      final Endpoint endpoint = journal.begin(record, labels, "created");
      arrival.await(endpoint, identity);
      LOGGER.info("endpoint {}: created on {}", id, record.device().name());
      return endpoint;
    } catch (RuntimeException failure) {
      if (identity != null) {
        arrival.abandon(identity);
      }
      if (isStored) {
        undo(record, labels, adopted, failure);
      } else {
        claims.undo(id, adopted);
      }
      throw failure;
    }
  }

  /**
   * Removes the record and gives the addresses back. Where the store refuses that, the endpoint is
   * entered to be removed: the removal is repeated until it has finished.
   */
  private void undo(
      EndpointRecord record, LabelDerivation labels, List<Lease> adopted, RuntimeException cause) {
    try {
      store.remove(record.id());
      claims.undo(record.id(), adopted);
    } catch (RuntimeException failure) {
      cause.addSuppressed(failure);
      onLeftOver.accept(journal.begin(record, labels, "refused: " + cause.getMessage()));
    }
  }

  private EndpointAddressing addressing(int id, EndpointRecord draft) {
    if (!draft.configuration().datapath().addressesAreExternal()) {
      return claims.choose(id, draft.addressing());
    }
    if (draft.addressing().ipv4() == null && draft.addressing().ipv6() == null) {
      throw Refusal.invalid("addressing", "is missing, but external-ipam requires an address");
    }
    claims.checkTimers(draft.addressing());
    return draft.addressing();
  }

  private void checkFree(EndpointIdentifier path, int asked, EndpointRecord draft) {
    if (asked != 0 && registry.find(asked) != null) {
      throw Refusal.conflict("id", "endpoint " + asked + " already exists");
    }
    if (path.localId() == 0 && path.kind() != EndpointIdentifier.Kind.AGENT_LOCAL) {
      registry
          .find(path)
          .ifPresent(
              other -> {
                throw Refusal.conflict("id", path + " already exists as endpoint " + other.id());
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

  /** Refuses an interface that another endpoint uses: each would replace the other's programs. */
  static void checkInterface(EndpointRecord draft, Endpoint other) {
    final EndpointRecord record = other.record();
    if (record.id() != draft.id()
        && (record.device().index() == draft.device().index()
            || record.device().name().equals(draft.device().name()))) {
      throw Refusal.conflict(
          "interface-name", "'" + draft.device().name() + "' is in use by endpoint " + record.id());
    }
  }

  private static void checkAddress(String field, IpAddress address, Endpoint other) {
    final EndpointAddressing used = other.record().addressing();
    if (address != null && (address.equals(used.ipv4()) || address.equals(used.ipv6()))) {
      throw Refusal.conflict(field, address + " is in use by endpoint " + other.id());
    }
  }

  private void checkAddress(String field, IpAddress address) {
    if (address != null && ipcache.isNode(address)) {
      throw Refusal.conflict(field, address + " is in use by the node");
    }
  }
}
