package agent.server.handler;

import agent.contract.datapath.PrefilterListModel;
import agent.contract.datapath.PrefilterModel;
import agent.datapath.manager.spec.Prefilter;
import agent.datapath.manager.spec.PrefilterList;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** Routes of the prefilter. */
public final class PrefilterHandlers implements ApiHandler.Group {
  private final Prefilter prefilter;

  /**
   * Creates the handlers.
   *
   * @param prefilter the prefilter
   */
  public PrefilterHandlers(Prefilter prefilter) {
    this.prefilter = prefilter;
  }

  private interface Change {
    PrefilterList apply(OptionalLong revision, List<Prefix> prefixes);
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.GET_PREFILTER, request -> answer(prefilter.get()));
    handlers.put(
        Route.PATCH_PREFILTER,
        request -> answer(change(request.body(PrefilterListModel.class), prefilter::add)));
    handlers.put(
        Route.DELETE_PREFILTER,
        request -> answer(change(request.body(PrefilterListModel.class), prefilter::remove)));
  }

  private static PrefilterList change(PrefilterListModel request, Change change) {
    return change.apply(revision(request), prefixes(request));
  }

  private static OptionalLong revision(PrefilterListModel request) {
    return request.revision() == null ? OptionalLong.empty() : OptionalLong.of(request.revision());
  }

  private static List<Prefix> prefixes(PrefilterListModel request) {
    if (request.deny() == null) {
      throw ApiRequest.badBody("deny", "is missing, an array of CIDRs is expected");
    }
    final List<Prefix> prefixes = new ArrayList<>(request.deny().size());
    for (int i = 0; i < request.deny().size(); i++) {
      final String text = request.deny().get(i);
      try {
        prefixes.add(Prefix.parse(text));
      } catch (Refusal refusal) {
        throw refusal.at("deny[" + i + "]");
      }
    }
    return prefixes;
  }

  private static Answer answer(PrefilterList list) {
    final PrefilterListModel model =
        new PrefilterListModel(
            list.deny().stream().map(Prefix::toString).toList(), list.revision());
    return Answer.ok(new PrefilterModel(model, new PrefilterModel.Status(model)));
  }
}
