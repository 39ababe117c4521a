package agent.endpoint.request;

import agent.endpoint.build.Answers;
import agent.endpoint.build.IdentityArrival;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointJournal;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointRecordWriter;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.state.LabelDerivation;
import agent.identity.Identity;
import agent.identity.LabelFilter;
import agent.ipam.Ipam;
import agent.ipam.Ipam.Change;
import agent.ipam.Lease;
import agent.ipcache.Ipcache;
import agent.types.EntrySource;
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
  private final EndpointRecordWriter records;
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
    records = collaborators.records();
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
   * @param records has their records stored
   * @param ipcache holds the addresses of the node, which an endpoint must not use
   * @param arrival acquires their identities
   */
  public record Collaborators(
      EndpointRegistry registry,
      EndpointJournal journal,
      EndpointRecordWriter records,
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

  /** An endpoint on its way to the store, and what is given back where that fails. */
  private record Admission(
      EndpointRecord record,
      LabelDerivation labels,
      List<Lease> adopted,
      CompletableFuture<Identity> identity) {}

  /**
   * Admits an endpoint of a source; it then waits for its identity or for its build.
   *
   * @return completes when the endpoint and its addresses are stored; it is not seen before.
   *     Exceptionally where they cannot be; then no state has changed
   * @throws Refusal INVALID, CONFLICT or EXHAUSTED, or UNAVAILABLE where the process may not have
   *     another endpoint; then no state has changed
   */
  public CompletableFuture<Endpoint> admit(
      EntrySource source, EndpointIdentifier path, EndpointRequest request) {
    final int asked = reader.localId(path, request);
    final EndpointRecord draft = reader.created(source, path, request);
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
    try {
      final Change<EndpointAddressing> addressing = addressing(id, draft);
      final CompletableFuture<Identity> identity = arrival.ask(labels.identity());
      final EndpointRecord record =
          draft
              .withId(id)
              .withAddressing(addressing.value())
              .withIdentity(IdentityArrival.numberOf(identity));
      return store(new Admission(record, labels, adopted, identity), addressing.stored());
    } catch (RuntimeException failure) {
      claims.undo(id, adopted);
      throw failure;
    }
  }

  private CompletableFuture<Endpoint> store(Admission admission, CompletableFuture<Void> leases) {
    registry.reserve(admission.record());
    return records
        .save(admission.record())
        .handle((done, failure) -> failure)
        .thenCompose(
            failure ->
                failure == null
                    ? claim(admission, leases)
                    : notStored(admission, Answers.unwrapped(failure)));
  }

  /** Claims the addresses of a stored endpoint, and enters it when the claims are stored. */
  private CompletableFuture<Endpoint> claim(Admission admission, CompletableFuture<Void> leases) {
    final EndpointRecord record = admission.record();
    return records
        .onConductor(leases)
        .thenCompose(
            done ->
                record.configuration().datapath().addressesAreExternal()
                    ? leases
                    : records.onConductor(claims.claim(record.id(), record.addressing())))
        .handle((done, failure) -> failure)
        .thenCompose(
            failure ->
                failure == null
                    ? CompletableFuture.completedFuture(entered(admission))
                    : undo(admission, Answers.unwrapped(failure)));
  }

  private Endpoint entered(Admission admission) {
    final EndpointRecord record = admission.record();
    final Endpoint endpoint = journal.begin(record, admission.labels(), "created");
    arrival.await(endpoint, admission.identity());
    LOGGER.info("endpoint {}: created on {}", record.id(), record.device().name());
    return endpoint;
  }

  private CompletableFuture<Endpoint> notStored(Admission admission, RuntimeException cause) {
    arrival.abandon(admission.identity());
    claims.undo(admission.record().id(), admission.adopted());
    registry.release(admission.record());
    return CompletableFuture.failedFuture(cause);
  }

  /**
   * Removes the record and gives the addresses back. Where the store refuses that, the endpoint is
   * entered to be removed: the removal is repeated until it has finished.
   */
  private CompletableFuture<Endpoint> undo(Admission admission, RuntimeException cause) {
    final EndpointRecord record = admission.record();
    return records
        .remove(record.id())
        .handle((done, failure) -> failure)
        .thenCompose(
            failure -> {
              if (failure == null) {
                return notStored(admission, cause);
              }
              arrival.abandon(admission.identity());
              cause.addSuppressed(Answers.unwrapped(failure));
              onLeftOver.accept(
                  journal.begin(record, admission.labels(), "refused: " + cause.getMessage()));
              return CompletableFuture.failedFuture(cause);
            });
  }

  private Change<EndpointAddressing> addressing(int id, EndpointRecord draft) {
    if (!draft.configuration().datapath().addressesAreExternal()) {
      return claims.choose(id, draft.addressing());
    }
    if (draft.addressing().ipv4() == null && draft.addressing().ipv6() == null) {
      throw Refusal.invalid("addressing", "is missing, but external-ipam requires an address");
    }
    claims.checkTimers(draft.addressing());
    return new Change<>(draft.addressing(), CompletableFuture.completedFuture(null));
  }

  private void checkFree(EndpointIdentifier path, int asked, EndpointRecord draft) {
    final EntrySource source = draft.source();
    if (asked != 0) {
      registry
          .recordOf(EndpointIdentifier.local(asked))
          .ifPresent(
              other -> {
                throw Refusal.conflict("id", other.nameTo(source) + " already exists");
              });
    }
    if (path.localId() == 0 && path.kind() != EndpointIdentifier.Kind.AGENT_LOCAL) {
      registry
          .recordOf(path)
          .ifPresent(
              other -> {
                throw Refusal.conflict("id", path + " already exists as " + other.nameTo(source));
              });
    }
    for (final EndpointRecord other : registry.records()) {
      checkInterface(draft, other);
      checkAddress("addressing.ipv4", draft.addressing().ipv4(), other, source);
      checkAddress("addressing.ipv6", draft.addressing().ipv6(), other, source);
    }
    checkAddress("addressing.ipv4", draft.addressing().ipv4());
    checkAddress("addressing.ipv6", draft.addressing().ipv6());
  }

  /** Refuses an interface that another endpoint uses: each would replace the other's programs. */
  static void checkInterface(EndpointRecord draft, EndpointRecord record) {
    if (record.id() != draft.id()
        && (record.device().index() == draft.device().index()
            || record.device().name().equals(draft.device().name()))) {
      throw Refusal.conflict(
          "interface-name",
          "'" + draft.device().name() + "' is in use by " + record.nameTo(draft.source()));
    }
  }

  private static void checkAddress(
      String field, IpAddress address, EndpointRecord other, EntrySource source) {
    final EndpointAddressing used = other.addressing();
    if (address != null && (address.equals(used.ipv4()) || address.equals(used.ipv6()))) {
      throw Refusal.conflict(field, address + " is in use by " + other.nameTo(source));
    }
  }

  private void checkAddress(String field, IpAddress address) {
    if (address != null && ipcache.isNode(address)) {
      throw Refusal.conflict(field, address + " is in use by the node");
    }
  }
}
