/** The management API: routes, requests and answers, from an HTTP exchange to a handler. */
package agent.server;
