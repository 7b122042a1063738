// The service's API as this page uses it.

/** A problem document as an error. */
export class Refused extends Error {
  constructor(problem) {
    super(problem.detail || problem.title || "the service refused this");
    this.problem = problem;
  }
}

/** The upload was stopped by the person. */
export class Stopped extends Error {}

let askForToken = async () => {};

/** Tells how to ask for the token when the service wants one. */
export const onTokenNeeded = (ask) => { askForToken = ask; };

const unreachable = (detail) => new Refused({
  title: "the service does not answer", status: 0, code: "unreachable",
  detail: detail || "The service does not answer. It may have been stopped; what was uploaded before is kept.",
  errors: [],
});

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return { title: "unexpected answer", status: response.status, code: "unexpected",
      detail: `The service answered with status ${response.status}.`, errors: [] };
  }
}

async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw unreachable();
  }
  if (response.status === 401) {
    await askForToken();
    return send(path, options);
  }
  if (!response.ok) throw new Refused(await problemOf(response));
  return response;
}

export const get = async (path) => (await send(path, { headers: { accept: "application/json" } })).json();

export const post = async (path, body) => (await send(path, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
})).json();

export const remove = (path) => send(path, { method: "DELETE" });

/** Asks for a cookie with this token; false when it is wrong. */
export async function signIn(token) {
  const response = await fetch("/api/v1/session", { method: "POST", headers: { authorization: `Bearer ${token}` } });
  return response.ok;
}

/** Sends files; `progress(sent, total)` is told; `stop.abort()` stops. */
export function upload(files, progress, stop) {
  return new Promise((resolve, reject) => {
    const form = new FormData();
    for (const file of files) form.append("file", file, file.name);
    const request = new XMLHttpRequest();
    request.open("POST", "/api/v1/inventories");
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => progress(event.loaded, event.total));
    request.addEventListener("load", () => {
      if (request.status === 401) {
        askForToken().then(() => upload(files, progress, stop)).then(resolve, reject);
      } else if (request.status >= 200 && request.status < 300) {
        resolve(request.response);
      } else {
        reject(new Refused(request.response || {
          title: "unexpected answer", status: request.status, code: "unexpected",
          detail: `The service answered with status ${request.status}.`, errors: [],
        }));
      }
    });
    request.addEventListener("error", () => reject(unreachable("The connection broke off while sending. Nothing was kept.")));
    request.addEventListener("abort", () => reject(new Stopped()));
    stop.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

const ENDED = ["done", "failed", "cancelled"];

/** Follows a job to its end; `news(job)` hears every step. */
export function follow(id, news) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(`/api/v1/jobs/${id}/events`);
    let polling = false;
    const take = (job) => {
      news(job);
      if (ENDED.includes(job.state)) {
        source.close();
        resolve(job);
        return true;
      }
      return false;
    };
    source.addEventListener("job", (event) => take(JSON.parse(event.data)));
    source.addEventListener("error", () => {
      if (polling) return;
      // Streams can be cut by what stands between; asking always works.
      polling = true;
      source.close();
      const ask = async () => {
        try {
          if (!take(await get(`/api/v1/jobs/${id}`))) setTimeout(ask, 1000);
        } catch (error) {
          reject(error);
        }
      };
      ask();
    });
  });
}
