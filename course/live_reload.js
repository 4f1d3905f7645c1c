// The preview server adds this to each page: reload on a change, and keep the scroll position.
(() => {
  const key = `place in ${location.pathname}`;
  const place = sessionStorage.getItem(key);
  if (place !== null) {
    sessionStorage.removeItem(key);
    addEventListener("load", () => scrollTo({top: Number(place), behavior: "instant"}));
  }
  new EventSource("/course-live-reload").onmessage = () => {
    sessionStorage.setItem(key, String(scrollY));
    location.reload();
  };
})();
